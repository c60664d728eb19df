import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant
let port: number

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  port = Number(new URL(await app.app.listen({ port: 0 })).port)
})
afterAll(() => app.close())

const mebibyte = Buffer.alloc(1024 * 1024, 'x')

interface Sent {
  /** What the client received before the connection ended. */
  readonly received: string
  /** The error of the connection, such as EPIPE. */
  readonly error: string | undefined
  readonly sentBytes: number
}

const headOf = (head: string) =>
  `${head}\r\nhost: x\r\nx-api-key: ${tenant.key}\r\ncontent-type: application/json\r\n\r\n`

/** Sends a request over a socket, as fast as the gateway reads it, and only then reads the response. */
async function send(head: string, body: readonly Buffer[]): Promise<Sent> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let error: string | undefined
  socket.on('error', (reason: NodeJS.ErrnoException) => {
    error = reason.code
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(headOf(head))
  for (const part of body) if (socket.writable) await write(socket, part)
  let received = ''
  socket.on('data', (part: Buffer) => {
    received += part.toString('latin1')
  })
  socket.on('end', () => socket.end())
  await closed
  return { received, error, sentBytes: socket.bytesWritten }
}

const sendBody = (head: string, mebibytes: number) =>
  send(
    head,
    Array.from({ length: mebibytes }, () => mebibyte),
  )

function write(socket: Socket, bytes: Buffer): Promise<unknown> {
  return new Promise((resolve) => socket.write(bytes, resolve))
}

/** How many connections the gateway has not closed. */
const connections = () => new Promise((resolve) => app.app.server.getConnections((_, count) => resolve(count)))

describe('a body of more than 1 MiB', () => {
  const lengthOf = (mebibytes: number) => `content-length: ${mebibytes * mebibyte.length}`

  // 8 MiB are more than the buffers of the system take; 2 MiB are not. Every route is closed by the same function.
  it.each([
    ['POST /users', 3, 8, lengthOf(8)],
    ['POST /users', 1, 30, lengthOf(30)],
    ['POST /graphql', 1, 8, lengthOf(8)],
    ['POST /mcp', 1, 8, lengthOf(8)],
  ])(
    'gets its 413, also if a client reads after it has sent everything: %s, %i clients, %i MiB',
    async (target, clients, mebibytes, header) => {
      const head = `${target} HTTP/1.1\r\n${header}`
      const responses = await Promise.all(Array.from({ length: clients }, () => sendBody(head, mebibytes)))
      expect(responses.flatMap(({ error }) => error ?? [])).toEqual([])
      for (const { received } of responses) expect(received).toMatch(/^HTTP\/1.1 413 .*PAYLOAD_TOO_LARGE/s)
    },
  )

  it('gets its 413 if it comes in chunks', async () => {
    const part = Buffer.concat([Buffer.from('100000\r\n'), mebibyte, Buffer.from('\r\n')])
    const body = [...Array.from({ length: 8 }, () => part), Buffer.from('0\r\n\r\n')]
    const { received, error } = await send('POST /users HTTP/1.1\r\ntransfer-encoding: chunked', body)
    expect([received.slice(0, 12), error]).toEqual(['HTTP/1.1 413', undefined])
  })

  it('is dropped up to 32 MiB, and then the connection is closed', async () => {
    const { sentBytes, error } = await sendBody(`POST /users HTTP/1.1\r\n${lengthOf(200)}`, 200)
    expect(error).toMatch(/EPIPE|ECONNRESET/)
    // The buffers of the system take some more.
    expect(sentBytes / mebibyte.length).toBeLessThan(60)
  })

  it('is followed by no other request', async () => {
    const requested: unknown[] = []
    const note = ({ url }: { url?: string }) => void requested.push(url)
    app.app.server.on('request', note)
    onTestFinished(() => void app.app.server.off('request', note))
    const next = Buffer.from('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
    const { received } = await send(`POST /users HTTP/1.1\r\n${lengthOf(2)}`, [
      mebibyte,
      Buffer.concat([mebibyte, next]),
    ])
    expect(received.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 413'])
    await expect.poll(connections).toBe(0)
    expect(requested).toEqual(['/users'])
  })

  it('is awaited for 5 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const closed = once(socket, 'close')
    socket.write(headOf(`POST /users HTTP/1.1\r\n${lengthOf(8)}`))
    expect(await text(socket)).toMatch(/^HTTP\/1.1 413 /)
    expect(await connections()).toBe(1)
    vi.advanceTimersByTime(5_000)
    await expect.poll(connections).toBe(0)
    socket.destroy()
    await closed
  })
})
