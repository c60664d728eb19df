import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Cluster, canCreateClusters, createCluster, freePort } from '../support/cluster.ts'
import { readBlocks } from '../support/docs.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'

describe.skipIf(!canCreateClusters)('PostgreSQL', () => {
  const archive = mkdtempSync(path.join(tmpdir(), 'fusion-archive-'))
  let cluster: Cluster
  beforeAll(async () => {
    chmodSync(archive, 0o777)
    cluster = await createCluster({ archive_mode: 'on', archive_command: `'cp %p ${archive}/%f'` })
  })
  afterAll(async () => {
    await cluster?.remove()
    rmSync(archive, { recursive: true })
  })

  it('is restored to a moment by the commands of docs/operating.md, with its keys and stored responses', async () => {
    const { key } = await prepare(cluster)
    const write = async ({ address }: ListeningGateway, name: string) => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': name }
      const body = JSON.stringify({ name, email: 'a@example.com', phone: '1' })
      const response = await fetch(`${address}/users`, { method: 'POST', headers, body })
      return { status: response.status, isReplay: response.headers.has('idempotent-replayed') }
    }
    const readNames = async ({ address }: ListeningGateway) => {
      const response = await fetch(`${address}/users?limit=10`, { headers: { 'x-api-key': key } })
      return ((await response.json()) as { users: { name: string }[] }).users.map(({ name }) => name)
    }
    const [backup, restore] = readBlocks('docs/operating.md', 'Backups').filter(({ code }) =>
      /basebackup|recovery/.test(code),
    )
    const gateway = await listen(cluster.url)
    const session = new pg.Client({ connectionString: cluster.adminUrl })
    await session.connect()
    onTestFinished(() => session.end())

    await write(gateway, 'before-the-backup')
    await cluster.runScript(backup?.code ?? 'false', { DATABASE_URL: cluster.adminUrl })
    await write(gateway, 'before-the-moment')
    const [{ moment }] = (await session.query('SELECT clock_timestamp()::text AS moment')).rows
    await write(gateway, 'after-the-moment')
    expect(await readNames(gateway)).toEqual(['before-the-backup', 'before-the-moment', 'after-the-moment'])
    const [{ file }] = (await session.query('SELECT pg_walfile_name(pg_switch_wal()) AS file')).rows
    const isArchived = async () =>
      (await session.query('SELECT last_archived_wal >= $1 AS done FROM pg_stat_archiver', [file])).rows[0].done
    await expect.poll(isArchived, { timeout: 30_000 }).toBe(true)

    const port = await freePort()
    await cluster.runScript(restore?.code ?? 'false', { ARCHIVE: archive, MOMENT: moment, PORT: String(port) })
    onTestFinished(() => cluster.runScript('pg_ctl stop --pgdata=restored --mode=immediate --silent', {}))
    const url = new URL(cluster.url)
    url.port = String(port)
    const restored = await listen(url.href)
    await expect.poll(() => write(restored, 'before-the-moment')).toEqual({ status: 201, isReplay: true })
    expect(await readNames(restored)).toEqual(['before-the-backup', 'before-the-moment'])
    await restored.close()
    await gateway.close()
  })
})
