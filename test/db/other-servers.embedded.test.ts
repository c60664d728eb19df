import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readServerConfig } from '../../src/config.ts'
import { fusion } from '../support/cli.ts'

/** A server of HTTP, which sends an error, or of another protocol, which closes the connection. */
let sends: string | undefined
const server = createServer((socket) => {
  socket.on('error', () => undefined)
  socket.once('data', () => (sends === undefined ? socket.destroy() : socket.end(sends)))
})
let address: string
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

const list = (search = '') => fusion(['tenants', 'list'], { DATABASE_URL: `postgresql://one@${address}/two${search}` })

describe('a DATABASE_URL that leads to a server which is not PostgreSQL', () => {
  it.each(['', '?sslmode=prefer', '?sslmode=require', '?sslmode=verify-full'])(
    'is named in one line, with what the server sent: %s',
    async (search) => {
      sends = 'HTTP/1.1 400 Bad Request\r\n\r\n'
      expect(await list(search)).toEqual({
        code: 1,
        stdout: '',
        stderr: `The database cannot be reached: ${address} is not a PostgreSQL server: it sent ${JSON.stringify(sends)}\n`,
      })
    },
  )

  it('is named if the server closes the connection', async () => {
    sends = undefined
    const { stderr } = await list()
    expect(stderr).toBe(
      `The database cannot be reached: ${address} closed the connection or did not answer in time, as a server that is not PostgreSQL does\n`,
    )
  })
})

describe('METRICS_PORT', () => {
  it('is refused if it is the port of the gateway', () => {
    expect(() => readServerConfig({ METRICS_PORT: '4000' })).toThrow(
      'METRICS_PORT is 4000, the port of the gateway (PORT). Set it to another port',
    )
    expect(readServerConfig({ METRICS_PORT: '4000', PORT: '4001' })).toMatchObject({ metricsPort: 4000, port: 4001 })
  })
})
