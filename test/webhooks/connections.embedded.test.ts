import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createSender } from '../../src/domain/webhook/delivery/send.ts'

const closes: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closes.splice(0)) await close()
})

type GatewayResponse = 'respond' | 'reset' | 'close'

/**
 * Starts an endpoint that answers its messages so, in their order. Returns its URL and the numbers of the connections
 * of the messages.
 */
async function receive(responses: readonly GatewayResponse[]) {
  const connections: number[] = []
  const bodies: string[] = []
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    const connection = sockets.size
    let received = ''
    socket
      .on('error', () => undefined)
      .on('data', (chunk) => {
        received += chunk.toString()
        const body = received.split('\r\n\r\n')[1]
        if (!body?.endsWith('}')) return
        received = ''
        connections.push(connection)
        bodies.push(body)
        const response = responses[connections.length - 1]
        if (response === 'reset') socket.resetAndDestroy()
        else if (response === 'close') socket.end()
        else socket.write('HTTP/1.1 204 No Content\r\n\r\n')
      })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closes.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, connections, bodies }
}

function sender() {
  const { send, close } = createSender({ allowPrivateNetworks: true, timeoutMilliseconds: 10_000 })
  closes.push(close)
  return async (url: string, number: number) => {
    const result = await send(url, { headers: {}, body: JSON.stringify({ number }) })
    // The client gives its connection back in the next turn of the event loop.
    await new Promise(setImmediate)
    return result
  }
}

describe('a connection that the endpoint closes', () => {
  it.each<GatewayResponse>(['reset', 'close'])(
    'when it is used again: the message is sent at once on a new one: %s',
    async (response) => {
      const endpoint = await receive(['respond', response, 'respond'])
      const send = sender()
      expect(await send(endpoint.url, 1)).toMatchObject({ isAccepted: true })
      expect(await send(endpoint.url, 2)).toMatchObject({ isAccepted: true, status: 204 })
      expect(endpoint.connections).toEqual([1, 1, 2])
      expect(endpoint.bodies).toEqual(['{"number":1}', '{"number":2}', '{"number":2}'])
    },
  )

  it('once: if the new one is closed, too, the attempt has failed', async () => {
    const endpoint = await receive(['respond', 'reset', 'reset', 'respond'])
    const send = sender()
    await send(endpoint.url, 1)
    expect(await send(endpoint.url, 2)).toMatchObject({
      isAccepted: false,
      error: expect.stringMatching(/^no response/),
    })
    expect(endpoint.connections).toEqual([1, 1, 2])
  })

  it.each<GatewayResponse>(['reset', 'close'])(
    'and not if it was new: the attempt has failed: %s',
    async (response) => {
      const endpoint = await receive([response, 'respond'])
      expect(await sender()(endpoint.url, 1)).toMatchObject({ isAccepted: false, status: null })
      expect(endpoint.connections).toEqual([1])
    },
  )
})
