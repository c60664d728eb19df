import { randomUUID } from 'node:crypto'
import { generateApiKey } from '@fusion-gateway/auth'
import { deployMigrations, readMigrationStatus } from '@fusion-gateway/migrate'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { fusion, startGateway } from '../support/cli.ts'
import { subscribe } from '../support/events.ts'
import { listen } from '../support/gateway.ts'
import { createDatabaseOfOwner, dropDatabase, hasServer, ownerUrl, runAsAdminOn } from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'

describe.skipIf(!hasServer)('on a PostgreSQL server', () => {
  const name = `fusion_fresh_${randomUUID().slice(0, 8)}`
  let env: { DATABASE_URL: string }
  beforeAll(async () => {
    env = { DATABASE_URL: ownerUrl(name) }
    await createDatabaseOfOwner(name)
  })
  afterAll(() => dropDatabase(name))

  it('serve and keys exit with 1 if migrations are pending, and name the command that applies them', async () => {
    for (const args of [['serve'], ['keys', 'list']]) {
      const { code, stdout, stderr } = await fusion(args, env)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain('npm run fusion -- migrate deploy')
    }
  })

  it('every command refuses a database that does not store UTF-8, in one line', async () => {
    const latin = `${name}_latin`
    await createDatabaseOfOwner(latin, `ENCODING LATIN1 TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`)
    for (const args of [['serve'], ['work'], ['migrate', 'deploy'], ['migrate', 'status'], ['tenants', 'list']]) {
      expect(await fusion(args, { DATABASE_URL: ownerUrl(latin) })).toEqual({
        code: 1,
        stdout: '',
        stderr: 'The database has the encoding LATIN1. Create it with the encoding UTF8.\n',
      })
    }
    await dropDatabase(latin)
  })

  it('every command refuses a session whose tables are in another schema than those of Prisma Client, in one line', async () => {
    // A second installation in the database: its role finds a schema of its own before `public`.
    const shared = `${name}_shared`
    await createDatabaseOfOwner(shared)
    await runAsAdminOn(shared, 'CREATE SCHEMA second; GRANT ALL ON SCHEMA second TO PUBLIC')
    const second = new URL(ownerUrl(shared))
    second.searchParams.set('options', '-c search_path=second,public')
    for (const args of [['serve'], ['work'], ['migrate', 'deploy'], ['migrate', 'status'], ['tenants', 'list']]) {
      const { code, stdout, stderr } = await fusion(args, { DATABASE_URL: second.href })
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(
        /^The search_path of the role is second,\s?public, so its tables would be in the schema second\. The gateway uses the schema public\. .*search_path.*\n$/,
      )
    }
    await runAsAdminOn(shared, `ALTER DATABASE ${shared} SET search_path = second, public`)
    expect(await fusion(['migrate', 'deploy'], { DATABASE_URL: ownerUrl(shared) })).toMatchObject({ code: 1 })
    const first = new URL(ownerUrl(shared))
    first.searchParams.set('options', '-c search_path=public')
    expect(await fusion(['migrate', 'deploy'], { DATABASE_URL: first.href })).toMatchObject({ code: 0 })
    await dropDatabase(shared)
  })

  it('a role, a database and a URL cannot set what changes results', async () => {
    const odd = `${name}_odd`
    await createDatabaseOfOwner(odd)
    for (const setting of [
      'extra_float_digits = 0',
      `default_transaction_isolation = 'serializable'`,
      'standard_conforming_strings = off',
      `"DateStyle" = 'SQL, DMY'`,
      `timezone = 'Asia/Kolkata'`,
      'idle_in_transaction_session_timeout = 1',
    ])
      await runAsAdminOn(odd, `ALTER DATABASE ${odd} SET ${setting}`)
    const database = await openDatabase(locationOf(ownerUrl(odd)))
    const rows = await database.sql.query({
      text: `SELECT 12345.123456789011::float8::text, current_setting('transaction_isolation'), '\\', '2026-01-31 08:00+00'::timestamptz::text`,
    })
    expect(rows).toEqual([['12345.123456789011', 'read committed', '\\', '2026-01-31 08:00:00+00']])
    await database.close()
    await dropDatabase(odd)
  })

  it('two processes deploy migrations at the same time without a conflict', async () => {
    expect(await fusion(['migrate', 'status'], env)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('pending\t'),
    })
    const both = await Promise.all([fusion(['migrate', 'deploy'], env), fusion(['migrate', 'deploy'], env)])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    expect(both.map(({ stdout }) => stdout.split(' ')[0]).sort()).toEqual(['Applied', 'Nothing'])
    expect(await fusion(['migrate', 'status'], env)).toMatchObject({ code: 0 })
  })

  it('ten deployments in one process run without a conflict', async () => {
    const other = `${name}_ten`
    await createDatabaseOfOwner(other)
    const databases = await Promise.all(Array.from({ length: 10 }, () => openDatabase(locationOf(ownerUrl(other)))))
    const applied = await Promise.all(databases.map((one) => deployMigrations(one)))
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1)
    const { pending, failed } = await readMigrationStatus((databases[0] as (typeof databases)[number]).sql)
    expect([...pending, ...failed]).toEqual([])
    await Promise.all(databases.map((database) => database.close()))
    await dropDatabase(other)
  })

  it('a subscription of one gateway gets a change through another gateway within a second', async () => {
    await fusion(['tenants', 'create', 'Live'], env)
    const { stdout } = await fusion(['keys', 'create', '--tenant', 'Live'], env)
    const key = stdout.trim()
    const [one, other] = await Promise.all([startGateway(env), startGateway(env)])
    const events = await subscribe(one.address, key, 'subscription { jobs { id status } }')
    expect((await events.next())?.data?.data).toEqual({ jobs: [] })
    const send = async (mutation: string) => {
      const response = await fetch(`${other.address}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key },
        body: JSON.stringify({ query: `mutation { response: ${mutation} { job { id } } }` }),
      })
      const { data } = (await response.json()) as { data: { response: { job: { id: string } } } }
      return data.response.job
    }
    const { id } = await send('createJob(input: { jobType: "x" })')
    expect((await events.next())?.data?.data).toEqual({ jobs: [{ id, status: 'PENDING' }] })
    const [event] = await Promise.all([events.next(), send(`cancelJob(input: { id: "${id}" })`)])
    expect(event?.data?.data).toEqual({ jobs: [{ id, status: 'CANCELLED' }] })
    // The gateway breaks off the open subscription when it stops, so that the client subscribes again.
    const [{ code }] = await Promise.all([one.stop('SIGTERM'), expect(events.next()).rejects.toThrow()])
    expect(code).toBe(0)
    await other.stop()
    await runAsAdminOn(name, 'DELETE FROM tenant_app')
  })

  it('serve creates no demo data, serves no GraphiQL and prints no key', async () => {
    const gateway = await startGateway(env)
    expect((await fetch(`${gateway.address}/ready`)).status).toBe(200)
    expect((await fetch(`${gateway.address}/graphql`, { headers: { accept: 'text/html' } })).status).toBe(401)
    expect(gateway.output()).not.toMatch(/x-api-key|fus_/)
    expect((await gateway.stop()).code).toBe(0)
    expect((await fusion(['tenants', 'list'], env)).stdout).toBe('')
  })
})

describe('while the database is unreachable', () => {
  it('REST, GraphQL and /ready answer 503 with Retry-After, and /health answers 200', async () => {
    const { app, close } = await listen('postgresql://nobody@127.0.0.1:1/none')
    const headers = { 'x-api-key': generateApiKey() }
    const responses = await Promise.all([
      app.inject({ url: '/users/1', headers }),
      app.inject({ method: 'POST', url: '/graphql', headers, payload: { query: '{ __typename }' } }),
      app.inject({ url: '/ready' }),
    ])
    expect(responses.map(({ statusCode }) => statusCode)).toEqual([503, 503, 503])
    for (const response of responses) expect(response.headers['retry-after']).toBe('5')
    expect(responses[0]?.json()).toMatchObject({ code: 'SERVICE_UNAVAILABLE', status: 503 })
    expect(responses.map(({ body }) => body).join()).not.toMatch(/127\.0\.0\.1|ECONN|nobody/)
    expect((await app.inject({ url: '/health' })).statusCode).toBe(200)
    await close()
  })
})
