import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { Client, parseUrl } from '@fusion-gateway/sql'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'

const tlsRequestCode = 80_877_103
/** Authentication is not needed, and the server is ready. */
const ready = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])

let server: Server
let acceptsPlain = true
/** How often a connection has asked for TLS, which the server does not have. */
let asked = 0

beforeAll(async () => {
  server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      if (data.length === 8 && data.readInt32BE(4) === tlsRequestCode) {
        asked += 1
        socket.end('N')
      } else if (data[0] === 0x58) socket.end()
      else if (acceptsPlain) socket.write(ready)
      else socket.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => void server.close())

async function connect(): Promise<void> {
  const { port } = server.address() as AddressInfo
  const client = new Client(parseUrl(`postgresql://someone@127.0.0.1:${port}/any?sslmode=prefer`))
  client.on('error', () => undefined)
  await client.connect()
  await client.end()
}

it('with sslmode=prefer a server is asked for TLS again after a minute, and after a connection has failed', async () => {
  await connect()
  await connect()
  expect(asked).toBe(1)
  acceptsPlain = false
  await expect(connect()).rejects.toThrow()
  acceptsPlain = true
  await connect()
  expect(asked).toBe(2)
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 61_000)
  await connect()
  clock.mockRestore()
  expect(asked).toBe(3)
})
