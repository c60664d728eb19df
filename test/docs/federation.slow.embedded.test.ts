import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { freePort } from '../support/cluster.ts'
import { projectRoot, readBlocks } from '../support/docs.ts'
import { subscribe } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { hasExample } from '../support/skip.ts'

describe.skipIf(!hasExample('supergraph', 'docs/recipes/federation.md'))('docs/recipes/federation.md', () => {
  const example = path.join(projectRoot, 'examples/supergraph')
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-supergraph-'))
  let app: TestApp
  let tenant: TestTenant
  let page: string
  let router: string
  let stop: () => Promise<unknown>
  const requests: IncomingMessage[] = []

  beforeAll(async () => {
    app = await startTestApp({ federation: true, introspection: false })
    app.app.server.on('request', (request) => requests.push(request))
    await app.app.listen({ host: '127.0.0.1', port: 0 })
    tenant = await app.createTenant()
    await createOneOfEach(app, tenant)
    const [ordersPort, hivePort, port] = [await freePort(), await freePort(), await freePort()]
    const env = {
      ...process.env,
      FUSION_URL: `http://127.0.0.1:${(app.app.server.address() as AddressInfo).port}/graphql`,
      ORDERS_URL: `http://127.0.0.1:${ordersPort}/graphql`,
      SUPERGRAPH: path.join(folder, 'supergraph.graphql'),
      HIVE_PORT: String(hivePort),
      PORT: String(port),
      API_KEY: tenant.key,
      NO_COLOR: '1',
    }
    const [commands] = readBlocks('docs/recipes/federation.md').filter(({ code }) => code.includes('npm run compose'))
    const [install, compose, start] = commands?.code.trim().split('\n') ?? []
    expect([install, compose, start]).toEqual([
      'npm ci',
      'npm run compose',
      'API_KEY=$(cat ../../data/demo-key) npm start',
    ])
    execFileSync('npm', ['run', 'compose'], { cwd: example, env })
    const child = spawn('npm', ['start'], { cwd: example, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    stop = async () => {
      if (child.exitCode !== null) return
      const exited = once(child, 'exit')
      process.kill(-(child.pid ?? 0))
      await exited
    }
    let output = ''
    await new Promise<void>((resolve, reject) => {
      const read = (chunk: Buffer) => {
        output += chunk.toString()
        if (/Orders of creators: /.test(output) && /Listening on/.test(output)) resolve()
      }
      child.stdout.on('data', read)
      child.stderr.on('data', read)
      child.once('exit', (code) => reject(new Error(`It exited with ${code}:\n${output}`)))
    })
    page = `http://127.0.0.1:${port}/`
    router = `http://127.0.0.1:${hivePort}/graphql`
  }, 120_000)
  afterAll(async () => {
    await stop?.()
    await app.close()
    rmSync(folder, { recursive: true })
  })

  async function send(url: string, query: string, headers: Record<string, string> = {}) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    })
    return (await response.json()) as { data: Record<string, never>; errors?: { extensions: { code: string } }[] }
  }

  const query = '{ orders { total buyer { name accounts { displayName } } account { displayName } } }'

  it('serves a page that asks for the orders of one subgraph and the users of the other', async () => {
    expect(await (await fetch(page)).text()).toContain('<h1>Orders of creators</h1>')
    const { data, errors } = await send(page, query)
    expect(errors).toBeUndefined()
    const { data: own } = await app.graphql<{ users: { nodes: { name: string; accounts: object[] }[] } }>(
      tenant,
      '{ users { nodes { name accounts { displayName } } } }',
    )
    const [buyer] = own.users.nodes
    expect(data['orders']).toEqual([1_000, 2_000].map((total) => ({ total, buyer, account: buyer?.accounts[0] })))
  })

  it('reads the users of all orders, and their accounts, with one statement', async () => {
    const statements = await app.statementsOf(() =>
      send(router, '{ orders { buyer { name accounts { displayName } } } }', { 'x-api-key': tenant.key }),
    )
    expect(statements).toHaveLength(1)
  })

  it('extends users with their orders, for each tenant its own', async () => {
    const other = await app.createTenant()
    const user = await factoriesFor(app, other).user()
    const text = '{ users { nodes { name orders { total } } } }'
    expect((await send(router, text, { 'x-api-key': other.key })).data).toEqual({
      users: { nodes: [{ name: user.name, orders: [] }] },
    })
    const { data } = await send(router, '{ orders { buyer { name } } }', { 'x-api-key': other.key })
    expect(data).toBeNull()
  })

  it('forwards credentials, idempotency keys, traces and the name of the client', async () => {
    const sent = {
      'x-api-key': tenant.key,
      'idempotency-key': 'one',
      tracestate: 'a=b',
      'graphql-client-name': 'a page',
    }
    await send(
      router,
      'mutation { createUser(input: { name: "A", email: "a@example.com", phone: "1" }) { user { id } } }',
      sent,
    )
    expect(requests.at(-1)?.headers).toMatchObject(sent)
    expect((await send(router, '{ users { nodes { id } } }')).errors).toMatchObject([
      { extensions: { code: 'UNAUTHENTICATED' } },
    ])
    const { key } = await createKey(app.database, {
      tenantAppId: tenant.tenantAppId,
      name: 'jobs',
      scopes: ['jobs:read'],
    })
    expect((await send(router, '{ users { nodes { id } } }', { 'x-api-key': key })).errors).toMatchObject([
      { extensions: { code: 'FORBIDDEN' } },
    ])
  })

  it('forwards subscriptions', async () => {
    const job = await factoriesFor(app, tenant).job()
    const events = await subscribe(
      new URL(router).origin,
      tenant.key,
      `subscription { job(id: "${job.id}") { status } }`,
    )
    expect(await events.next()).toMatchObject({ event: 'next', data: { data: { job: { status: 'PENDING' } } } })
    events.close()
  })
})
