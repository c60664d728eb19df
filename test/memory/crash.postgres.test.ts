import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { canCreateClusters, createCluster } from '../support/cluster.ts'
import { listen, prepare } from '../support/gateway.ts'

describe.skipIf(!canCreateClusters)('after a crash of PostgreSQL', () => {
  it('a kept response does not show a write that was lost', async () => {
    // The write is lost because no process writes it to the disk.
    const cluster = await createCluster({ autovacuum: 'off', bgwriter_lru_maxpages: '0' })
    onTestFinished(() => cluster.remove())
    const { tenantAppId, key } = await prepare(cluster)
    const gateway = await listen(cluster.url, { responseCacheBytes: 1024 * 1024 })
    onTestFinished(() => gateway.close())
    const runAsAdmin = async (sql: string, values: string[] = []) => {
      const session = new pg.Client({ connectionString: cluster.adminUrl })
      session.on('error', () => undefined)
      await session.connect()
      return session.query(sql, values).finally(() => session.end())
    }
    await runAsAdmin(
      `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ($1, 'usr_1', 'Stored', 'a', now())`,
      [tenantAppId],
    )
    const read = async () => {
      const response = await fetch(`${gateway.address}/users/usr_1`, { headers: { 'x-api-key': key } })
      const { name } = (await response.json()) as { name?: string }
      return [response.status, name, response.headers.get('cache-status')]
    }
    await read()

    const { rows } = await runAsAdmin(`SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'`)
    process.kill(rows[0].pid, 'SIGSTOP')
    await runAsAdmin(`SET synchronous_commit = off; UPDATE "user" SET name = 'Lost'`)
    await read()
    expect(await read()).toEqual([200, 'Lost', 'fusion; hit'])
    process.kill(rows[0].pid, 'SIGKILL')
    const readNow = () => runAsAdmin('SELECT name FROM "user"').then((found) => found.rows[0].name, String)
    await expect.poll(readNow, { timeout: 30_000 }).toBe('Stored')

    expect(await read()).toEqual([200, 'Stored', 'fusion; fwd=miss'])
  })
})
