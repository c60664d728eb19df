import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listenOnPostgres } from '../../src/db/postgres/listener.ts'
import { adminUrl } from '../support/postgresql.ts'

/** A way to the database that may be cut, or be silent. */
let proxy: Server
let sockets: Socket[]
let url: string

beforeEach(async () => {
  if (adminUrl === undefined) return
  const database = new URL(adminUrl)
  const { hostname, port } = database
  sockets = []
  proxy = createServer((client) => {
    const server = connect(Number(port || 5432), hostname)
    sockets.push(client, server)
    for (const socket of [client, server]) socket.on('error', () => undefined)
    client.pipe(server).pipe(client)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  database.host = `127.0.0.1:${(proxy.address() as { port: number }).port}`
  url = database.href
})
afterEach(() => {
  if (adminUrl === undefined) return
  for (const socket of sockets) socket.destroy()
  proxy.close()
})

async function announce(channel: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  await client.query('SELECT pg_notify($1, $2)', [channel, text])
  await client.end()
}

describe.skipIf(adminUrl === undefined)('a connection that listens', () => {
  it('is made again when it was cut, says that there was a gap, and hears on', async () => {
    const heard: string[] = []
    let wake = () => {}
    const events = {
      onMessage(text: string) {
        heard.push(text)
        wake()
      },
      onGap() {
        heard.push('gap')
        wake()
      },
    }
    const until = async (count: number) => {
      while (heard.length < count) await new Promise<void>((resolve) => (wake = resolve))
    }
    const listener = await listenOnPostgres({ connectionString: url }, 'fusion_test', events, () => undefined)
    await announce('fusion_test', 'one')
    await until(1)
    for (const socket of sockets) socket.destroy()
    await until(2)
    await announce('fusion_test', 'two')
    await until(3)
    expect(heard).toEqual(['one', 'gap', 'two'])
    await listener.close()
  })

  it('can be closed while the server is frozen', async () => {
    const events = { onMessage: () => undefined, onGap: () => undefined }
    const listener = await listenOnPostgres({ connectionString: url }, 'fusion_test', events, () => undefined)
    for (const socket of sockets) socket.unpipe().pause()
    const began = performance.now()
    await listener.close()
    expect(performance.now() - began).toBeLessThan(5_000)
  })

  it('that cannot be made says so', async () => {
    const events = { onMessage: () => undefined, onGap: () => undefined }
    const nowhere = { connectionString: 'postgresql://nobody@127.0.0.1:2/none' }
    await expect(listenOnPostgres(nowhere, 'x', events, () => undefined)).rejects.toThrow(/ECONNREFUSED/)
  })
})
