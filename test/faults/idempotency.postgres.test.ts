import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'

let cluster: Cluster
let key: string
let database: pg.Client
const gateways: ListeningGateway[] = []

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster()
  key = (await prepare(cluster)).key
  database = new pg.Client({ connectionString: cluster.adminUrl })
  await database.connect()
})
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close()
})
afterAll(async () => {
  await database?.end()
  await cluster?.remove()
})

async function start(): Promise<ListeningGateway> {
  const gateway = await listen(cluster.url, { pool: { statementMilliseconds: 20_000 } })
  gateways.push(gateway)
  return gateway
}

async function send(address: string, method: string, path: string, body: object, idempotencyKey?: string) {
  const response = await fetch(address + path, {
    method,
    headers: {
      'x-api-key': key,
      'content-type': 'application/json',
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(body),
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}

const create = (address: string, email: string) =>
  send(address, 'POST', '/users', { name: 'Ada', email, phone: '1' }, `create ${email}`.replace(' ', '-'))

async function countOf(email: string): Promise<number> {
  const { rows } = await database.query('SELECT count(*)::int AS count FROM "user" WHERE email LIKE $1', [email])
  return rows[0].count
}

describe.skipIf(!canCreateClusters)('an idempotency key', () => {
  it('is shared by all gateways: 409 while another gateway runs its request, then the response', async () => {
    const [one, two] = [await start(), await start()]
    await create(two.address, 'warm@example.com')
    await database.query('BEGIN; LOCK TABLE "user"')
    const first = create(one.address, 'shared@example.com')
    while (!one.statements.some((sql) => sql.startsWith('INSERT INTO "user"'))) await new Promise(setImmediate)
    const second = await create(two.address, 'shared@example.com')
    expect(second).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_KEY_IN_USE' } })
    expect(second.headers.get('retry-after')).toBe('1')
    await database.query('ROLLBACK')
    const created = await first
    expect(created.status).toBe(201)
    const again = await create(two.address, 'shared@example.com')
    expect([again.body, again.headers.get('idempotent-replayed')]).toEqual([created.body, 'true'])
    expect(await countOf('shared@example.com')).toBe(1)
  })

  it('creates each user exactly once if the gateway is killed and every request is sent again', async () => {
    const emails = Array.from({ length: 60 }, (_, index) => `killed${index}@example.com`)
    const env = { DATABASE_URL: cluster.url, RATE_LIMIT: '0' }
    const victim = await startGateway(env)
    await create(victim.address, 'before@example.com')
    const answered = new Map<string, unknown>()
    const createAll = (some: readonly string[]) =>
      Promise.allSettled(
        some.map(async (email) => {
          const { body, status } = await create(victim.address, email)
          if (status === 201) answered.set(email, body)
        }),
      )
    const first = createAll(emails.slice(0, 30))
    while (answered.size < 5) await new Promise(setImmediate)
    // Some of the others certainly run when the gateway is killed.
    await database.query('BEGIN; LOCK TABLE "user" IN EXCLUSIVE MODE')
    const others = createAll(emails.slice(30))
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO "user"%'`
    // A transaction sees the sessions as they were when it first looked.
    while ((await database.query(waiting)).rowCount === 0) await database.query('SELECT pg_stat_clear_snapshot()')
    await victim.stop('SIGKILL')
    await database.query('ROLLBACK')
    await Promise.all([first, others])
    expect(answered.size).toBeLessThan(emails.length)

    const { address } = await start()
    for (const email of emails) {
      let response = await create(address, email)
      // PostgreSQL may hold the key for the killed gateway until it notices that the connection is closed.
      while (response.status === 409) response = await create(address, email)
      expect(response.status).toBe(201)
      if (answered.has(email)) expect(response.body).toEqual(answered.get(email))
    }
    expect(await countOf('killed%@example.com')).toBe(emails.length)
  })
})

describe.skipIf(!canCreateClusters)('writes that the database ends because of a conflict', () => {
  it('run again, with and without an idempotency key', async () => {
    // Sequences are not rolled back: only the first attempt conflicts.
    await database.query(`
      CREATE SEQUENCE attempt;
      CREATE FUNCTION conflict_once() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$ BEGIN
        IF nextval('attempt') = 1 THEN RAISE 'conflict' USING ERRCODE = 'serialization_failure'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER conflict_once BEFORE UPDATE ON "user" FOR EACH ROW EXECUTE FUNCTION conflict_once()`)
    const { address, statements } = await start()
    const { id } = (await create(address, 'serial@example.com')).body
    for (const withKey of [true, false]) {
      await database.query('ALTER SEQUENCE attempt RESTART')
      const from = statements.length
      const name = withKey ? 'With' : 'Without'
      const changed = await send(address, 'PUT', `/users/${id}`, { name }, withKey ? 'serial' : undefined)
      expect(changed).toMatchObject({ status: 200, body: { name } })
      expect(statements.slice(from).filter((sql) => sql.startsWith('UPDATE')).length).toBe(2)
    }
  })
})
