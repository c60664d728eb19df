import { once } from 'node:events'
import { request } from 'node:http'
import { openSocket } from './web-socket.ts'

/** A subscription as its bytes, or its messages, arrive. */
export interface RawSubscription {
  /** Resolves when something has arrived that contains the text. */
  until(text: string): Promise<void>
  /** How the gateway ends it. */
  readonly ending: Promise<Ending>
}

export interface Ending {
  /** Everything that has arrived. */
  readonly text: string
  /** The status and whether the response is whole, or the code with which the WebSocket was closed. */
  readonly end: string
}

type Subscribe = (address: string, key: string, query: string, variables?: object) => Promise<RawSubscription>

const overHttp =
  (accept: string): Subscribe =>
  async (address, key, query, variables = {}) => {
    const headers = { accept, 'x-api-key': key, 'content-type': 'application/json' }
    const sent = request(`${address}/graphql`, { method: 'POST', headers, agent: false })
    sent.end(JSON.stringify({ query, variables }))
    const [response] = await once(sent, 'response')
    const arrived = collect()
    response.setEncoding('utf8').on('data', arrived.add)
    const ended = new Promise((resolve) => response.once('close', resolve)).then(() => {
      const { statusCode, complete, headers } = response
      const type = String(headers['content-type']).split(';')[0]
      return { text: arrived.text(), end: `${statusCode} ${type}, ${complete ? 'whole' : 'broken off'}` }
    })
    response.on('error', () => undefined)
    return { until: arrived.until, ending: ended }
  }

/** Subscribes by each transport, over a connection of its own. */
export const transports = {
  'server-sent events': overHttp('text/event-stream'),
  multipart: overHttp('multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/graphql-response+json'),
  async WebSocket(address, key, query, variables = {}) {
    const { socket, send, closed } = await openSocket(address)
    const arrived = collect()
    socket.on('message', (data) => arrived.add(String(data)))
    send({ type: 'connection_init', payload: { 'x-api-key': key } })
    await arrived.until('connection_ack')
    send({ type: 'subscribe', id: '1', payload: { query, variables } })
    const ending = closed.then(({ code }) => ({ text: arrived.text(), end: String(code) }))
    return { until: arrived.until, ending }
  },
} satisfies Record<string, Subscribe>

/** What completes a subscription. */
export const completion = /event: complete|--graphql--|"type":"complete"/

export type Transport = keyof typeof transports

function collect() {
  let text = ''
  let check = () => {}
  return {
    text: () => text,
    add(more: string): void {
      text += more
      check()
    },
    until: (wanted: string) =>
      new Promise<void>((resolve) => {
        check = () => text.includes(wanted) && resolve()
        check()
      }),
  }
}
