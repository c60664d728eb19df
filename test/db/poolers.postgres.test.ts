import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion, startCommand, startGateway } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { hasPgBouncer, type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts'

const canRun = canCreateClusters && hasPgBouncer

let cluster: Cluster
let bouncers: Record<'session' | 'transaction' | 'statement', PgBouncer>

beforeAll(async () => {
  if (!canRun) return
  cluster = await createCluster()
  await fusion(['migrate', 'deploy'], { DATABASE_URL: cluster.ownerUrl })
  await fusion(['tenants', 'create', 'Acme'], { DATABASE_URL: cluster.ownerUrl })
  const [session, transaction, statement] = await Promise.all([
    startPgBouncer(cluster, 20, 'session'),
    startPgBouncer(cluster, 3, 'transaction'),
    startPgBouncer(cluster, 3, 'statement'),
  ])
  bouncers = { session, transaction, statement }
})
afterAll(async () => {
  for (const bouncer of Object.values(bouncers ?? {})) await bouncer.stop()
  await cluster?.remove()
})

const commands = [
  ['serve'],
  ['work', '--handlers', 'test/fixtures/handlers.ts'],
  ['tenants', 'list'],
  ['migrate', 'deploy'],
  ['migrate', 'status'],
  ['keys', 'create', '--tenant', 'Acme'],
]
/** A command that logs writes lines of JSON to stdout. */
const linesOf = ({ stdout, stderr }: { stdout: string; stderr: string }) => (stdout + stderr).trim().split('\n')

/** A setting of the sessions that are idle behind PgBouncer. */
async function settingsBehind(bouncer: PgBouncer): Promise<unknown> {
  const client = new pg.Client({ connectionString: bouncer.ownerUrl })
  await client.connect()
  const { rows } = await client.query(`SELECT current_setting('plan_cache_mode') AS mode`)
  await client.end()
  return rows[0].mode
}

describe.skipIf(!canRun)('a pooler without DATABASE_DIRECT_URL', () => {
  it.each(commands)('in transaction mode is refused in one line: %s %s', async (...command) => {
    const result = await fusion(command, { DATABASE_URL: bouncers.transaction.ownerUrl, PORT: '0' })
    expect(result.code).toBe(1)
    expect(linesOf(result)).toEqual([
      expect.stringMatching(
        /^127\.0\.0\.1:\d+ is a pooler that shares sessions between transactions\. Set DATABASE_DIRECT_URL to the URL of the server itself\.$/,
      ),
    ])
    expect(await settingsBehind(bouncers.transaction)).toBe('auto')
  })

  it.each(commands)('in statement mode is refused in one line: %s %s', async (...command) => {
    const result = await fusion(command, { DATABASE_URL: bouncers.statement.ownerUrl, PORT: '0' })
    expect(result.code).toBe(1)
    expect(linesOf(result)).toEqual([
      expect.stringMatching(/^127\.0\.0\.1:\d+ is a pooler in statement mode, which has no transactions\. Use [^\n]+$/),
    ])
  })

  it('in session mode is a server like any other', async () => {
    const env = { DATABASE_URL: bouncers.session.ownerUrl }
    expect(await fusion(['migrate', 'deploy'], env)).toMatchObject({ code: 0, stderr: '' })
    const { stdout: key } = await fusion(['keys', 'create', '--tenant', 'Acme'], env)
    const gateway = await startGateway(env)
    const response = await fetch(`${gateway.address}/users`, { headers: { 'x-api-key': key.trim() } })
    expect(response.status).toBe(200)
    expect(await gateway.stop('SIGTERM')).toMatchObject({ code: 0 })
  })
})

describe.skipIf(!canRun)('DATABASE_DIRECT_URL', () => {
  it.each([['serve'], ['work', '--handlers', 'test/fixtures/handlers.ts']])(
    'is refused in one line if it is the pooler again: %s',
    async (...command) => {
      const url = bouncers.transaction.ownerUrl
      const result = await fusion(command, { DATABASE_URL: url, DATABASE_DIRECT_URL: url, PORT: '0' })
      expect(result.code).toBe(1)
      expect(linesOf(result).at(-1)).toMatch(
        /^127\.0\.0\.1:\d+ is a pooler .* DATABASE_DIRECT_URL must be the URL of the server itself\.$/,
      )
    },
  )

  it('does not help against statement mode, which every command says in one line', async () => {
    const env = { DATABASE_URL: bouncers.statement.ownerUrl, DATABASE_DIRECT_URL: cluster.ownerUrl, PORT: '0' }
    for (const command of [
      ['tenants', 'list'],
      ['tenants', 'create', 'Other'],
    ]) {
      const result = await fusion(command, env)
      expect(result.code).toBe(1)
      expect(linesOf(result)).toEqual([expect.stringMatching(/statement pooling mode$/)])
    }
  })

  it('lets a worker use the pooler', async () => {
    const env = { DATABASE_URL: bouncers.transaction.ownerUrl, DATABASE_DIRECT_URL: cluster.ownerUrl }
    const worker = await startCommand(['work', '--handlers', 'test/fixtures/handlers.ts'], env, 'working')
    expect(await worker.stop()).toMatchObject({ code: 0 })
  })
})
