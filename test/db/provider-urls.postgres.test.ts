import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { fusion, startGateway } from '../support/cli.ts'
import { awkwardPassword, type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { roleOf } from '../support/migrate.ts'
import { hasPgBouncer, startPgBouncer } from '../support/pgbouncer.ts'

let cluster: Cluster
let port: string
let socketFolder: string

beforeAll(async () => {
  if (!canCreateClusters) return
  socketFolder = mkdtempSync(path.join(tmpdir(), 'fusion-socket-'))
  chmodSync(socketFolder, 0o777)
  cluster = await createCluster({ unix_socket_directories: socketFolder })
  port = new URL(cluster.url).port
  await fusion(['migrate', 'deploy'], { DATABASE_URL: cluster.ownerUrl })
  await fusion(['tenants', 'create', 'Acme'], { DATABASE_URL: cluster.ownerUrl })
})
afterAll(async () => {
  await cluster?.remove()
  if (socketFolder) rmSync(socketFolder, { recursive: true, force: true })
})

/** A URL of the test server, which has the form of a provider's. */
function urlOf(form: string): string {
  const values: Record<string, string> = {
    user: roleOf(cluster.ownerUrl),
    password: encodeURIComponent(awkwardPassword),
    host: '127.0.0.1',
    port,
    database: 'fusion',
    socket: encodeURIComponent(socketFolder),
    folder: socketFolder,
  }
  return form.replace(/\{(\w+)\}/g, (_, name: string) => values[name] as string)
}
const listTenants = (form: string, env: Record<string, string> = {}) =>
  fusion(['tenants', 'list'], { DATABASE_URL: urlOf(form), ...env })
const works = { code: 0, stderr: '', stdout: expect.stringContaining('Acme') }

/** The URLs of the table in docs/operating.md, by provider. */
function documentedUrls(): [string, string][] {
  const text = readFileSync('docs/operating.md', 'utf8')
  return [...text.matchAll(/^\| ([^|]+) \| `(postgres(?:ql)?:[^`]+)` \|/gm)].map(
    ([, provider, url]) => [provider, url] as [string, string],
  )
}

describe.skipIf(!canCreateClusters)('the URL of a provider', () => {
  it('is documented for nine', () => expect(documentedUrls()).toHaveLength(9))

  it.each(documentedUrls())('is used: %s', async (_, url) => {
    const form = url
      .replace('USER:PASSWORD', '{user}:{password}')
      .replace('/DATABASE', '/{database}')
      .replace(/@[^/]+\//, '@{host}:{port}/')
      .replace(/host=[^&]+/, 'host={folder}&port={port}')
    // The server asks for TLS.
    const tls = /sslmode|host=/.test(form) ? '' : form.includes('?') ? '&sslmode=require' : '?sslmode=require'
    expect(await listTenants(form + tls)).toMatchObject(works)
  })

  it('has parameters without an effect, which the log of a gateway names', async () => {
    const url = urlOf(
      'postgresql://{user}:{password}@{host}:{port}/{database}?sslmode=require&pgbouncer=true&connection_limit=1',
    )
    const gateway = await startGateway({ DATABASE_URL: url })
    onTestFinished(async () => void (await gateway.stop('SIGTERM')))
    const notes = gateway
      .output()
      .split('\n')
      .filter((line) => line.includes('has no effect'))
    expect(notes.map((line) => JSON.parse(line)['msg'])).toEqual([
      'DATABASE_URL has the parameter pgbouncer, which has no effect: DATABASE_DIRECT_URL says that DATABASE_URL is a pooler of transactions',
      'DATABASE_URL has the parameter connection_limit, which has no effect: DATABASE_POOL_SIZE sets the number of connections',
    ])
  })
})

describe.skipIf(!canCreateClusters)('a URL means what it means to psql', () => {
  const server = 'postgresql://{user}:{password}@{host}:{port}/{database}'
  const socket = 'postgresql://{user}:{password}@/{database}?host={socket}&port={port}'

  it.each([
    ['sslmode=prefer uses TLS where the server has it', `${server}?sslmode=prefer`],
    ['channel_binding=require', `${server}?sslmode=require&channel_binding=require`],
    ['channel_binding=prefer', `${server}?sslmode=require&channel_binding=prefer`],
    ['application_name and options', `${server}?sslmode=require&application_name=x&options=-c%20work_mem%3D8MB`],
    ['a socket without a host', socket],
    ['a socket, where sslmode has no meaning', `${socket}&sslmode=require`],
    ['a socket with sslmode=prefer', `${socket}&sslmode=prefer`],
  ])('%s', async (_, form) => {
    expect(await listTenants(form)).toMatchObject(works)
  })

  it('PGHOST is the host of a URL without one', async () => {
    expect(
      await listTenants(`postgresql://{user}:{password}@/{database}?port={port}`, { PGHOST: socketFolder }),
    ).toMatchObject(works)
  })

  it('sslrootcert=system trusts the authorities of the system, and no other', async () => {
    const form = `${server}?sslrootcert=system`
    expect(await listTenants(form, { SSL_CERT_FILE: cluster.authority })).toMatchObject(works)
    expect(await listTenants(form)).toMatchObject({ code: 1, stderr: expect.stringMatching(/certificate/) })
  })

  it('a server that asks for TLS is told what to add', async () => {
    expect((await listTenants(server)).stderr).toBe(
      `The database cannot be reached: 127.0.0.1:${port} asks for TLS. Add sslmode=require or more to the URL\n`,
    )
  })

  it('channel_binding=require is refused over a connection without TLS', async () => {
    const { code, stderr } = await listTenants(`${socket}&channel_binding=require`)
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^The database cannot be reached: .* the server does not offer channel_binding\n$/),
    })
  })

  it.skipIf(!hasPgBouncer)('sslmode=prefer goes on without TLS where the server has none', async () => {
    const bouncer = await startPgBouncer(cluster, 10, 'session')
    onTestFinished(() => bouncer.stop())
    expect(await listTenants(`${bouncer.ownerUrl}?sslmode=prefer`)).toMatchObject(works)
    expect(await listTenants(`${bouncer.ownerUrl}?sslmode=require`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/does not support SSL/),
    })
  })

  it('sslnegotiation=direct begins with TLS', async () => {
    const folder = path.dirname(cluster.authority)
    const [key, cert] = ['server.key', 'server.crt'].map((name) => readFileSync(path.join(folder, name)))
    const protocols: unknown[] = []
    const proxy = createServer({ key, cert, ALPNProtocols: ['postgresql'] }, (client) => {
      protocols.push(client.alpnProtocol)
      const upstream = connect(Number(port), '127.0.0.1')
      client.pipe(upstream).pipe(client)
      client.on('error', () => upstream.destroy())
      upstream.on('error', () => client.destroy())
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void proxy.close())
    const { port: proxyPort } = proxy.address() as { port: number }
    // Only the administrator may connect to the server without TLS.
    const form = `postgresql://postgres:{password}@127.0.0.1:${proxyPort}/{database}?sslmode=require`
    expect(await listTenants(`${form}&sslnegotiation=direct`)).toMatchObject(works)
    expect(new Set(protocols)).toEqual(new Set(['postgresql']))
  })
})
