import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generateApiKey } from '../../src/engine/auth/api-key.ts'
import { openDatabase } from '../../src/engine/db/database.ts'
import { deployMigrations, readMigrationStatus } from '../../src/engine/db/migrations/migrations.ts'
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
        body: JSON.stringify({ query: `mutation { answer: ${mutation} { job { id } } }` }),
      })
      const { data } = (await response.json()) as { data: { answer: { job: { id: string } } } }
      return data.answer.job
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
    const answers = await Promise.all([
      app.inject({ url: '/users/1', headers }),
      app.inject({ method: 'POST', url: '/graphql', headers, payload: { query: '{ __typename }' } }),
      app.inject({ url: '/ready' }),
    ])
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([503, 503, 503])
    for (const answer of answers) expect(answer.headers['retry-after']).toBe('5')
    expect(answers[0]?.json()).toMatchObject({ code: 'SERVICE_UNAVAILABLE', status: 503 })
    expect(answers.map(({ body }) => body).join()).not.toMatch(/127\.0\.0\.1|ECONN|nobody/)
    expect((await app.inject({ url: '/health' })).statusCode).toBe(200)
    await close()
  })
})
