import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion, startGateway } from '../support/cli.ts'
import { awkwardPassword, type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { type ListeningGateway, listen, prepare } from '../support/gateway.ts'
import { run } from '../support/postgresql.ts'

let cluster: Cluster
let key: string
let folder: string

beforeAll(async () => {
  if (!canCreateClusters) return
  cluster = await createCluster()
  key = (await prepare(cluster)).key
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-passwords-'))
})
afterAll(async () => {
  await cluster?.remove()
  if (folder) rmSync(folder, { recursive: true })
})

/** The URL of the role that reads and writes rows, with another password or none. */
function urlWith(password: string, search = new URL(cluster.url).search): string {
  const url = new URL(cluster.url)
  url.password = encodeURIComponent(password)
  url.search = search
  return url.href
}

const runAsAdmin = (sql: string) => run(cluster.adminUrl, sql)

describe.skipIf(!canCreateClusters)('a PostgreSQL server that asks for a password', () => {
  const one = { code: 0, stderr: '' }

  it('gets it from the URL, PGPASSWORD or the password file', async () => {
    const passwordFile = path.join(folder, '.pgpass')
    const escaped = awkwardPassword.replace(/[\\:]/g, '\\$&')
    writeFileSync(passwordFile, `127.0.0.1:*:other:*:wrong\n127.0.0.1:*:fusion:fusion-app:${escaped}\n`, {
      mode: 0o600,
    })
    const without = urlWith('')
    for (const env of [
      { DATABASE_URL: cluster.url },
      { DATABASE_URL: without, PGPASSWORD: awkwardPassword },
      { DATABASE_URL: without, PGPASSFILE: passwordFile },
      { DATABASE_URL: without, HOME: folder, PGPASSWORD: '' },
    ]) {
      expect(await fusion(['tenants', 'list'], env)).toMatchObject(one)
    }
  })

  it('is refused in one line without the password, by every command', async () => {
    const { port } = new URL(cluster.url)
    const wrong = urlWith('not-the-password')
    const commands = [['serve'], ['serve', '--processes', '2'], ['work'], ['migrate', 'deploy'], ['keys', 'list']]
    for (const command of commands) {
      const { code, stdout, stderr } = await fusion(command, { DATABASE_URL: wrong, PORT: '0' })
      const output = stdout + stderr
      expect(code).toBe(1)
      expect(output).toContain(`127.0.0.1:${port} rejected the password of the role fusion-app`)
      expect(output).not.toMatch(/not-the-password|\n +at /)
      if (!command.includes('2')) expect(stderr).toMatch(/^The database cannot be reached: [^\n]+\n$/)
    }
    expect(await fusion(['tenants', 'list'], { DATABASE_URL: urlWith(''), HOME: '/nowhere' })).toMatchObject({
      code: 1,
      stderr: `The database cannot be reached: 127.0.0.1:${port} asks for the password of the role fusion-app, and none is set\n`,
    })
  })

  it.each([
    ['the URL', (search: string) => ({ DATABASE_URL: urlWith(awkwardPassword, search) })],
    ['PGSSLMODE', (search: string) => ({ DATABASE_URL: urlWith(awkwardPassword, ''), PGSSLMODE: search.slice(9) })],
  ])('is used with the meaning that psql gives to sslmode, from %s', async (_, env) => {
    expect(await fusion(['tenants', 'list'], env('?sslmode=require'))).toMatchObject(one)
    // The server accepts only TLS.
    expect(await fusion(['tenants', 'list'], env('?sslmode=disable'))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/ asks for TLS\. Add sslmode=require or more to the URL\n$/),
    })
    // The authority of the certificate is unknown.
    expect(await fusion(['tenants', 'list'], env('?sslmode=verify-full'))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/unable to verify the first certificate[^\n]*\n$/),
    })
  })

  it('serves with two processes, LISTEN and a worker', async () => {
    const gateway = await startGateway({ DATABASE_URL: cluster.url }, ['--processes', '2'])
    const response = await fetch(`${gateway.address}/users`, { headers: { 'x-api-key': key } })
    expect(response.status).toBe(200)
    expect(await gateway.stop('SIGTERM')).toMatchObject({ code: 0 })
  })

  it('is refused with a hint if the role may not read the tables', async () => {
    await runAsAdmin(`CREATE ROLE stranger LOGIN PASSWORD 'x'`)
    const url = new URL(urlWith('x'))
    url.username = 'stranger'
    const { code, stderr } = await fusion(['serve'], { DATABASE_URL: url.href })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^The database refused: permission denied for table _prisma_migrations\. .*migrate deploy --grants ROLE\n$/,
      ),
    })
    const grants = await fusion(['migrate', 'deploy', '--grants', 'stranger'], { DATABASE_URL: cluster.ownerUrl })
    expect(grants).toMatchObject(one)
    await run(cluster.ownerUrl, grants.stdout)
    expect(await fusion(['tenants', 'list'], { DATABASE_URL: url.href })).toMatchObject(one)
    expect(await fusion(['migrate', 'deploy', '--grants', 'nobody'], { DATABASE_URL: cluster.ownerUrl })).toMatchObject(
      {
        code: 1,
        stderr: 'There is no role nobody. Create it first.\n',
      },
    )
  })

  it('says in one line what it refuses', async () => {
    const url = new URL(cluster.url)
    url.searchParams.set('options', '-c default_transaction_read_only=on')
    expect(await fusion(['tenants', 'create', 'Acme'], { DATABASE_URL: url.href })).toMatchObject({
      code: 1,
      stderr: 'The database refused: cannot execute INSERT in a read-only transaction\n',
    })
    await runAsAdmin('CREATE DATABASE empty')
    url.pathname = '/empty'
    url.search = new URL(cluster.url).search
    const { code, stderr } = await fusion(['migrate', 'deploy'], { DATABASE_URL: url.href })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The role fusion-app may not create tables in the schema public\. [^\n]+\n$/)
  })
})

describe.skipIf(!canCreateClusters)('a password that is changed while the gateway runs', () => {
  let gateway: ListeningGateway
  beforeAll(async () => {
    gateway = await listen(cluster.url)
  })
  afterAll(async () => {
    await gateway?.close()
    await runAsAdmin(`ALTER ROLE "fusion-app" PASSWORD ${pg.escapeLiteral(awkwardPassword)}`)
  })

  it('makes reads and writes fail with 503, and the log has the SQLSTATE and the reason', async () => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    // The key is known from now on.
    expect((await fetch(`${gateway.address}/users`, { headers })).status).toBe(200)
    await runAsAdmin(`ALTER ROLE "fusion-app" PASSWORD 'rotated'`)
    await runAsAdmin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'fusion-app'`)
    await expect.poll(() => gateway.database.driver.connections()).toMatchObject({ idle: 0 })
    const query = '{ users { nodes { id } } }'
    const user = { name: 'Ada', email: 'ada@example.com', phone: '1' }
    const requests: [string, RequestInit][] = [
      ['/users?limit=1', {}],
      [`/graphql?query=${encodeURIComponent(query)}`, {}],
      ['/users', { method: 'POST', body: JSON.stringify(user) }],
    ]
    for (const [url, init] of requests) {
      const response = await fetch(gateway.address + url, { ...init, headers })
      const text = await response.text()
      expect(text).toContain('SERVICE_UNAVAILABLE')
      expect(text).not.toContain('fusion-app')
      if (!url.startsWith('/graphql'))
        expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    }
    const line = await gateway.logged(({ msg }) => msg === 'the database is unavailable')
    expect(line['err']).toMatchObject({
      message: expect.stringContaining('rejected the password'),
      cause: { code: '28P01' },
    })
    expect(gateway.log.filter(({ msg }) => msg === 'unexpected error')).toEqual([])
  })
})
