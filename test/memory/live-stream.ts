import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { applyPatch, type Operation } from 'rfc6902'
import { openSocket } from '../support/web-socket.ts'
import type { Json } from './observation.ts'

/** A message of a live query: its whole result, with the patch applied that it had. */
export interface LiveMessage {
  /** Undefined if it is not of a live query, because the query could not be followed. */
  readonly revision: number | undefined
  readonly data: Json
  readonly errors: Json
}

/** Follows a query. Ends when the gateway ends it, or the connection breaks. */
export type OpenLive = (address: string, headers: Readonly<Record<string, string>>, body: object) => Opened

export interface Opened {
  readonly messages: AsyncGenerator<LiveMessage, undefined>
  close(): void
}

/** Reads the parts of a response, each of which ends with a text. */
const overHttp =
  (accept: string, separator: string, payloadOf: (part: string) => Json): OpenLive =>
  (address, headers, body) => {
    const sent = request(`${address}/graphql`, {
      method: 'POST',
      headers: { ...headers, accept, 'content-type': 'application/json' },
      agent: false,
    })
    sent.on('error', () => undefined).end(JSON.stringify(body))
    async function* read(): AsyncGenerator<LiveMessage, undefined> {
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      let text = ''
      let last: Json
      for await (const chunk of response.setEncoding('utf8')) {
        text += chunk
        const parts = text.split(separator)
        text = parts.pop() ?? ''
        for (const part of parts) {
          const payload = payloadOf(part)
          if (!payload) continue
          last = messageOf(payload, last)
          yield last
        }
      }
      if (last === undefined) throw new Error(`${response.statusCode} ${text.slice(0, 500)}`)
      return undefined
    }
    return { messages: read(), close: () => sent.destroy() }
  }

/** The JSON after a text, if a part has any. */
const jsonAfter = (part: string, mark: string) => {
  const at = part.indexOf(mark)
  const text = at === -1 ? '' : part.slice(at + mark.length).trim()
  return text.startsWith('{') ? JSON.parse(text) : undefined
}

const overWebSocket: OpenLive = (address, headers, body) => {
  let close = () => {}
  let isClosed = false
  async function* read(): AsyncGenerator<LiveMessage, undefined> {
    const client = await openSocket(address)
    client.socket.on('error', () => undefined)
    close = () => client.socket.terminate()
    if (isClosed) close()
    client.send({ type: 'connection_init', payload: headers })
    let last: Json
    for (let message = await client.next(); message; message = await client.next()) {
      if (message.type === 'connection_ack') client.send({ type: 'subscribe', id: '1', payload: body })
      if (message.type === 'complete') break
      if (message.type === 'ping') client.send({ type: 'pong' })
      if (message.type !== 'next' && message.type !== 'error') continue
      last = messageOf(message.type === 'error' ? { errors: message.payload } : message.payload, last)
      yield last
    }
    client.socket.terminate()
    return undefined
  }
  return {
    messages: read(),
    close() {
      isClosed = true
      close()
    },
  }
}

/** @param last the message before it, to which a patch is applied */
function messageOf({ data, errors, extensions }: Json, last: LiveMessage | undefined): LiveMessage {
  const { revision, patch } = extensions?.live ?? {}
  if (!patch) return { revision, data, errors }
  const patched = structuredClone(last?.data)
  const failed = applyPatch(patched, patch as Operation[]).filter((error) => error !== null)
  if (failed.length > 0) throw new TypeError(`A patch does not fit: ${JSON.stringify(patch)}`)
  return { revision, data: patched, errors }
}

/** The ways to follow a query, each over a connection of its own. */
export const liveTransports = {
  'server-sent events': overHttp('text/event-stream', '\n\n', (part) => jsonAfter(part, 'data:')),
  multipart: overHttp('multipart/mixed;boundary=graphql;subscriptionSpec=1.0', '\r\n--graphql', (part) => {
    // An empty object only keeps the connection alive.
    const { payload, errors } = jsonAfter(part, '\r\n\r\n') ?? {}
    return payload ?? (errors && { errors })
  }),
  WebSocket: overWebSocket,
} satisfies Record<string, OpenLive>
