import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { listenOnPostgres } from '@fusion-gateway/sql'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { canCreateClusters, createCluster } from '../support/cluster.ts'
import { subscribe } from '../support/events.ts'
import { listen, prepare } from '../support/gateway.ts'
import { adminUrl, hasServer } from '../support/postgresql.ts'

/** A proxy to the database whose connections the test can cut or silence. */
let proxy: Server
let sockets: Socket[]
let url: string

beforeEach(async () => {
  if (!hasServer) return
  const database = new URL(adminUrl())
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
  if (!hasServer) return
  for (const socket of sockets) socket.destroy()
  proxy.close()
})

async function notify(channel: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl() })
  await client.connect()
  await client.query('SELECT pg_notify($1, $2)', [channel, text])
  await client.end()
}

describe.skipIf(!hasServer)('a listening connection', () => {
  it('reconnects when it is cut, reports a gap, and receives later messages', async () => {
    const received: string[] = []
    let wake = () => {}
    const events = {
      onMessage(text: string) {
        received.push(text)
        wake()
      },
      onGap() {
        received.push('gap')
        wake()
      },
    }
    const until = async (count: number) => {
      while (received.length < count) await new Promise<void>((resolve) => (wake = resolve))
    }
    const listener = await listenOnPostgres({ connectionString: url }, 'fusion_test', events, () => undefined)
    await notify('fusion_test', 'one')
    await until(1)
    for (const socket of sockets) socket.destroy()
    await until(2)
    await notify('fusion_test', 'two')
    await until(3)
    expect(received).toEqual(['one', 'gap', 'two'])
    await listener.close()
  })

  it('can be closed while the server is frozen', async () => {
    const events = { onMessage: () => undefined, onGap: () => undefined }
    const listener = await listenOnPostgres({ connectionString: url }, 'fusion_test', events, () => undefined)
    for (const socket of sockets) socket.unpipe().pause()
    const startedAt = performance.now()
    await listener.close()
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })

  it('fails if the server is unreachable', async () => {
    const events = { onMessage: () => undefined, onGap: () => undefined }
    const nowhere = { connectionString: 'postgresql://nobody@127.0.0.1:2/none' }
    await expect(listenOnPostgres(nowhere, 'x', events, () => undefined)).rejects.toThrow(/^nothing answers at /)
  })
})

describe.skipIf(!canCreateClusters)('a gateway whose clock is ahead of that of the database', () => {
  it('sends the jobs that changed while its listening connection was lost', async () => {
    const cluster = await createCluster()
    const { tenantAppId, key } = await prepare(cluster)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
    const gateway = await listen(cluster.url)
    const session = new pg.Client({ connectionString: cluster.adminUrl })
    await session.connect()
    for (const id of ['job_old', 'job_new']) {
      await session.query(
        `INSERT INTO job (tenant_app_id, id, job_type, status, max_attempts, run_at, updated_at)
         VALUES ($1, $2, 'x', 'PENDING', 3, now(), now())`,
        [tenantAppId, id],
      )
    }
    const events = await subscribe(gateway.address, key, 'subscription { jobs(first: 1) { id status } }')
    expect((await events.next())?.data?.data).toEqual({ jobs: [{ id: 'job_new', status: 'PENDING' }] })
    // Within one transaction the change is announced when the connection has been lost.
    await session.query('BEGIN')
    await session.query(`UPDATE job SET status = 'CANCELLED', updated_at = now() WHERE id = 'job_old'`)
    await session.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`)
    await session.query('COMMIT')
    const { jobs } = (await events.next())?.data?.data ?? {}
    expect(jobs).toContainEqual({ id: 'job_old', status: 'CANCELLED' })
    vi.useRealTimers()
    events.close()
    await session.end()
    await gateway.close()
    await cluster.remove()
  })
})
