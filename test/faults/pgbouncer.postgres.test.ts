import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { openPostgres } from '@fusion-gateway/sql'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion, type RunningCommand, type RunningGateway, startCommand, startGateway } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { subscribe } from '../support/events.ts'
import { roleOf } from '../support/migrate.ts'
import { hasPgBouncer, type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts'

const canRun = canCreateClusters && hasPgBouncer

let cluster: Cluster
let bouncer: PgBouncer
let gateway: RunningGateway
let worker: RunningCommand
let key: string
let env: Record<string, string>

beforeAll(async () => {
  if (!canRun) return
  // A gateway that relied on the settings of a session would read other times.
  cluster = await createCluster({ timezone: 'America/New_York', datestyle: 'german' })
  bouncer = await startPgBouncer(cluster, 2)
  env = { DATABASE_URL: bouncer.url, DATABASE_DIRECT_URL: cluster.url }
  const ownerEnv = { DATABASE_URL: bouncer.ownerUrl, DATABASE_DIRECT_URL: cluster.ownerUrl }
  const { stdout: grants } = await fusion(['migrate', 'deploy', '--grants', roleOf(cluster.url)], ownerEnv)
  const owner = new pg.Client({ connectionString: cluster.ownerUrl })
  await owner.connect()
  await owner.query(grants)
  await owner.end()
  await fusion(['tenants', 'create', 'Acme'], env)
  key = (await fusion(['keys', 'create', '--tenant', 'Acme'], env)).stdout.trim()
  gateway = await startGateway({ ...env, DATABASE_STATEMENT_TIMEOUT: '1' })
  worker = await startCommand(['work', '--handlers', 'test/fixtures/handlers.ts'], env, 'working')
})
afterAll(async () => {
  await worker?.stop()
  await gateway?.stop()
  await bouncer?.stop()
  await cluster?.remove()
})

async function send(path: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(gateway.address + path, {
    method: body ? 'POST' : 'GET',
    headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  expect(response.status).toBeLessThan(300)
  return response.json() as Promise<Record<string, never>>
}
const graphql = async (query: string, headers?: Record<string, string>) => {
  const { data, errors } = await send('/graphql', { query }, headers)
  expect(errors).toBeUndefined()
  return data as unknown as Record<string, Record<string, unknown>>
}

/** Asks the server through PgBouncer, in the session that another client would get. */
async function ask(sql: string): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString: bouncer.url })
  await client.connect()
  const { rows } = await client.query({ text: sql, rowMode: 'array' })
  await client.end()
  return rows
}

/** Runs a script in each session behind PgBouncer at the same time, so that what it sets is left in all of them. */
async function leave(script: string, url = bouncer.url, sessions = 2): Promise<void> {
  const clients = Array.from({ length: sessions }, () => new pg.Client({ connectionString: url }))
  for (const client of clients) client.on('error', () => undefined)
  try {
    await Promise.all(clients.map((client) => client.connect()))
    for (const sql of ['BEGIN', script, 'COMMIT']) await Promise.all(clients.map((client) => client.query(sql)))
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}

describe.skipIf(!canRun)('PgBouncer in transaction mode', () => {
  it('serves many requests at a time over two sessions, with the right times', async () => {
    const startedAt = Date.now()
    const users = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        send('/users', { name: `User ${index}`, email: `${index}@example.com`, phone: '1' }),
      ),
    )
    const read = await Promise.all(
      users.map(({ id }) =>
        graphql(`{ user(id: "${id}") { name createdAt accounts { id profile { id emails { id } } } } }`),
      ),
    )
    expect(read.map(({ user }) => user?.['name'])).toEqual(users.map(({ name }) => name))
    for (const { user } of read)
      expect(Math.abs(Date.parse(String(user?.['createdAt'])) - startedAt)).toBeLessThan(60_000)
    const { users: listed } = await send('/users')
    expect(listed).toHaveLength(40)
  })

  it('serves searches, and leaves nothing of their plans in a session', async () => {
    const search = (part: string) =>
      graphql(
        `{ users(filter: { search: "${part}" }) { nodes { name } totalCount } userStats(filter: { search: "${part}" }) { count } }`,
      )
    for (const { users, userStats } of await Promise.all(Array.from({ length: 8 }, () => search('uSER 39')))) {
      expect(users).toEqual({ nodes: [{ name: 'User 39' }], totalCount: 1 })
      expect(userStats).toEqual({ count: 1 })
    }
    expect(await ask("SELECT current_setting('plan_cache_mode'), current_setting('cpu_index_tuple_cost')")).toEqual([
      ['auto', '0.005'],
    ])
  })

  it('rolls back, retries and stores idempotent responses in one transaction', async () => {
    const mutation =
      'mutation { createUser(input: { name: "Once", email: "once@example.com", phone: "1" }) { user { id } } }'
    const once = () => graphql(mutation, { 'idempotency-key': 'once' })
    expect(await once()).toEqual(await once())
    const { users } = await graphql('{ users(filter: { email: "once@example.com" }) { nodes { id } totalCount } }')
    expect(users?.['totalCount']).toBe(1)
  })

  it('runs jobs, and subscribers see them end: LISTEN uses DATABASE_DIRECT_URL', async () => {
    const created = await graphql('mutation { createJob(input: { jobType: "count_up" }) { job { id } } }')
    const id = (created['createJob']?.['job'] as { id: string } | undefined)?.id
    const events = await subscribe(gateway.address, key, `subscription { job(id: "${id}") { status result } }`)
    let event = await events.next()
    const stateOf = () => event?.data?.data?.['job'] as { status: string; result: unknown }
    while (stateOf().status !== 'SUCCEEDED') event = await events.next()
    expect(stateOf().result).toEqual({ runs: 1 })
    events.close()
  })

  it('has statements of at most DATABASE_STATEMENT_TIMEOUT', async () => {
    const locking = new pg.Client({ connectionString: cluster.adminUrl })
    await locking.connect()
    await locking.query('BEGIN; LOCK TABLE account IN ACCESS EXCLUSIVE MODE')
    const response = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ users(first: 1) { nodes { accounts { id } } } }' }),
    })
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] })
    await locking.query('ROLLBACK')
    await locking.end()
    await graphql('{ users(first: 1) { nodes { accounts { id } } } }')
  })

  it('has sessions as they were: without settings and prepared statements', async () => {
    expect(await ask(`SELECT current_setting('timezone'), current_setting('statement_timeout')`)).toEqual([
      ['America/New_York', '0'],
    ])
    expect(await ask('SELECT count(*)::int FROM pg_prepared_statements')).toEqual([[0]])
  })

  it('answers while and after pg_dump runs through PgBouncer, which leaves sessions without a search_path', async () => {
    const url = new URL(bouncer.url)
    const dump = () =>
      promisify(execFile)('pg_dump', ['--schema-only', '--exclude-table=_prisma_migrations', url.href]).then(
        ({ stdout }) => expect(stdout).toContain('CREATE TABLE public.account'),
      )
    let isRunning = true
    const dumps = dump()
      .then(dump)
      .finally(() => {
        isRunning = false
      })
    while (isRunning) await Promise.all([send('/users'), graphql('{ users(first: 1) { nodes { id } } }')])
    await dumps
    await leave("SELECT set_config('search_path', '', false)")
    await send('/users')
    await send('/users', { name: 'After', email: 'after@example.com', phone: '1' })
  })

  it('does not depend on the settings that other clients have left in its sessions', async () => {
    const wrong = {
      search_path: 'pg_catalog',
      row_security: 'off',
      lock_timeout: '1',
      synchronous_commit: 'off',
      timezone: 'Asia/Tokyo',
      datestyle: 'SQL, DMY',
      bytea_output: 'escape',
      array_nulls: 'off',
      statement_timeout: '700',
      transform_null_equals: 'on',
    }
    const script = Object.entries(wrong).map(([name, value]) => `SET ${name} = '${value}'`)
    await leave(['CREATE TEMP TABLE account (tenant_app_id text, id text)', ...script].join('; '))
    const pool = { size: 2, connectMilliseconds: 5_000, acquireMilliseconds: 5_000, statementMilliseconds: 4_000 }
    const database = openPostgres(bouncer.url, { directUrl: cluster.url, pool })
    const names = Object.keys(wrong)
    const statement = {
      text: `SELECT ${names.map((name) => `current_setting('${name}')`).join(', ')}, 'account'::regclass = 'public.account'::regclass`,
    }
    const expected = ['public, pg_temp', 'on', '0', 'on', 'UTC', 'ISO, MDY', 'hex', 'on', '4s', 'off', true]
    const transaction = await database.begin()
    expect((await transaction.send(statement, [])).rows).toEqual([expected])
    await transaction.end('COMMIT')
    expect((await database.send(statement, [])).rows).toEqual([expected])
    await database.close()
    expect(await graphql('{ users(first: 1) { nodes { accounts { id } } } }')).toBeDefined()
  })

  it('writes although other clients have left its sessions read-only, and not if the database is', async () => {
    const writes = [
      () => send('/users', { name: 'Written', email: 'written@example.com', phone: '1' }),
      () =>
        graphql(
          'mutation { createUsers(inputs: [{ name: "Written", email: "w@example.com", phone: "1" }]) { results { user { id } } } }',
        ),
      () => graphql('mutation { createJob(input: { jobType: "count_up" }) { job { id } } }'),
    ]
    for (const write of writes) {
      await leave('SET default_transaction_read_only = on')
      await Promise.all([write(), write(), write(), send('/users')])
    }
    const admin = new pg.Client({ connectionString: cluster.adminUrl })
    await admin.connect()
    const role = `"${roleOf(cluster.url)}"`
    try {
      await admin.query(`ALTER ROLE ${role} SET default_transaction_read_only = on`)
      await leave('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => undefined)
      const response = await fetch(`${gateway.address}/users`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: '{ "name": "Refused", "email": "r@example.com", "phone": "1" }',
      })
      expect(response.status).toBe(503)
    } finally {
      await admin.query(`ALTER ROLE ${role} RESET default_transaction_read_only`)
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [
        roleOf(cluster.url),
      ])
      await admin.end()
    }
  })

  it('writes events as a superuser, although another client has left a session without triggers', async () => {
    const admin = new pg.Client({ connectionString: cluster.adminUrl })
    await admin.connect()
    const role = `"${roleOf(cluster.ownerUrl)}"`
    await admin.query(`ALTER ROLE ${role} SUPERUSER`)
    const other = await startPgBouncer(cluster, 1)
    const pool = { size: 1, connectMilliseconds: 5_000, acquireMilliseconds: 5_000, statementMilliseconds: 4_000 }
    const database = openPostgres(other.ownerUrl, { directUrl: cluster.ownerUrl, pool })
    try {
      await leave('SET session_replication_role = replica', other.ownerUrl, 1)
      const { rows } = await database.send({ text: "SELECT current_setting('session_replication_role')" }, [])
      expect(rows).toEqual([['origin']])
    } finally {
      await database.close()
      await other.stop()
      await admin.query(`ALTER ROLE ${role} NOSUPERUSER`)
      await admin.end()
    }
  })
})
