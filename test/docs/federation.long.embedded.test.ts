import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadTrustedIssuers } from '@fusion-gateway/auth'
import { createRateLimit } from '@fusion-gateway/limits'
import { parse } from 'graphql'
import { createClient } from 'graphql-ws'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { parse as parseYaml } from 'yaml'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { printSubgraphSchema } from '../../src/domain/schema.graphql.ts'
import { userScopes } from '../../src/domain/scopes.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { freePort } from '../support/cluster.ts'
import { projectRoot, readBlocks, readPage } from '../support/docs.ts'
import { subscribe } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { hasExample } from '../support/skip.ts'

const { openTrustedIssuers } = await loadTrustedIssuers()

const example = path.join(projectRoot, 'examples/supergraph')

/** An identity provider, which signs tokens for a user. */
async function createProvider(folder: string, tenant: string) {
  const alg = 'ES256'
  const { publicKey, privateKey } = await generateKeyPair(alg)
  const jwk = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(jwk)
  writeFileSync(path.join(folder, 'jwks.json'), JSON.stringify({ keys: [{ ...jwk, kid, alg, use: 'sig' }] }))
  const [issuer, audience] = ['https://id.example.com/', 'https://api.example.com']
  const file = path.join(folder, 'issuers.json')
  const entry = { issuer, audience, jwksFile: 'jwks.json', tenant, userIdClaim: 'user_id', scopes: ['users:read'] }
  writeFileSync(file, JSON.stringify([entry]))
  const sign = (userId: string) =>
    new SignJWT({ user_id: userId, scope: 'users:read' })
      .setProtectedHeader({ alg, kid, typ: 'at+jwt' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime('15m')
      .sign(privateKey)
  return { file, sign }
}

const routers = [
  {
    name: 'Hive Gateway',
    args: [],
    retryAfter: expect.stringMatching(/^\d+$/),
    hasSubscriptions: true,
    codesOfSecondField: ['IDEMPOTENCY_KEY_REUSED'],
  },
  { name: '@apollo/gateway', args: ['apollo'], retryAfter: null, hasSubscriptions: false, codesOfSecondField: [] },
]

describe.skipIf(!hasExample('supergraph', 'docs/recipes/federation.md')).each(routers)(
  '$name',
  ({ args, retryAfter, hasSubscriptions, codesOfSecondField }) => {
    let folder: string
    let app: TestApp
    let gateway: TestApp
    let tenant: TestTenant
    let rows: Awaited<ReturnType<typeof createOneOfEach>>
    let provider: Awaited<ReturnType<typeof createProvider>>
    let router: Awaited<ReturnType<typeof startExample>>
    const requests: IncomingMessage[] = []

    beforeAll(async () => {
      folder = mkdtempSync(path.join(tmpdir(), 'fusion-supergraph-'))
      app = await startTestApp()
      tenant = await app.createTenant('Acme')
      rows = await createOneOfEach(app, tenant)
      provider = await createProvider(folder, tenant.name)
      const { log } = app.app
      const options = { log, allowPrivateNetworks: true, userScopes }
      const trustedIssuers = await openTrustedIssuers(app.database, provider.file, 'urn:fusion-gateway', options)
      const rateLimit = createRateLimit(10_000, { log })
      gateway = await app.startAnother({ federation: true, introspection: false, trustedIssuers, rateLimit })
      gateway.app.server.on('request', (request) => requests.push(request))
      await gateway.app.listen({ host: '127.0.0.1', port: 0 })
      router = await startExample()
    }, 120_000)
    afterAll(async () => {
      await router?.stop()
      await gateway.close()
      await app.close()
      rmSync(folder, { recursive: true })
    })

    /** Runs the commands of the page: composes the supergraph, and starts the orders, a router and the page. */
    async function startExample() {
      const [ordersPort, routerPort, port] = [await freePort(), await freePort(), await freePort()]
      const env = {
        ...process.env,
        FUSION_URL: `http://127.0.0.1:${(gateway.app.server.address() as AddressInfo).port}/graphql`,
        ORDERS_URL: `http://127.0.0.1:${ordersPort}/graphql`,
        SUPERGRAPH: path.join(folder, 'supergraph.graphql'),
        ROUTER_PORT: String(routerPort),
        PORT: String(port),
        API_KEY: tenant.key,
        NO_COLOR: '1',
      }
      const [commands] = readBlocks('docs/recipes/federation.md').filter(({ code }) => code.includes('npm run compose'))
      expect(commands?.code.trim().split('\n')).toEqual([
        'npm ci',
        'npm run compose',
        'API_KEY=$(cat ../../data/demo-key) npm start',
      ])
      execFileSync('npm', ['run', 'compose'], { cwd: example, env })
      const child = spawn('npm', ['start', ...args], {
        cwd: example,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      })
      const stop = async () => {
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
      return { page: `http://127.0.0.1:${port}/`, url: `http://127.0.0.1:${routerPort}/graphql`, stop }
    }

    async function send(url: string, query: string, headers: Record<string, string> = {}) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query }),
      })
      const body = (await response.json()) as {
        data: Record<string, never> | null | undefined
        errors?: { extensions: { code: string } }[]
      }
      return { ...body, status: response.status, headers: response.headers }
    }

    const query = '{ orders { total buyer { name accounts { displayName } } account { displayName } } }'

    it('serves a page that asks for the orders of one subgraph and the users of the other', async () => {
      expect(await (await fetch(router.page)).text()).toContain('<h1>Orders of creators</h1>')
      const { data, errors } = await send(router.page, query)
      expect(errors).toBeUndefined()
      const { data: own } = await app.graphql<{ users: { nodes: { name: string; accounts: object[] }[] } }>(
        tenant,
        '{ users(first: 1) { nodes { name accounts { displayName } } } }',
      )
      const [buyer] = own.users.nodes
      expect(data?.['orders']).toEqual([1_000, 2_000].map((total) => ({ total, buyer, account: buyer?.accounts[0] })))
    })

    it('reads the users of all orders, and their accounts, with one statement', async () => {
      const statements = await app.statementsOf(() =>
        send(router.url, '{ orders { buyer { name accounts { displayName } } } }', { 'x-api-key': tenant.key }),
      )
      expect(statements).toHaveLength(1)
    })

    it('extends users with their orders, for each tenant its own', async () => {
      const other = await app.createTenant()
      const user = await factoriesFor(app, other).user()
      const text = '{ users { nodes { name orders { total } } } }'
      expect((await send(router.url, text, { 'x-api-key': other.key })).data).toEqual({
        users: { nodes: [{ name: user.name, orders: [] }] },
      })
      const { data } = await send(router.url, '{ orders { buyer { name } } }', { 'x-api-key': other.key })
      expect(data).toBeNull()
    })

    it('forwards traces and the name of the client', async () => {
      const sent = {
        'x-api-key': tenant.key,
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        tracestate: 'a=b',
        'graphql-client-name': 'a page',
        'graphql-client-version': '1.2',
      }
      await send(router.url, '{ viewer { keyName } }', sent)
      expect(requests.at(-1)?.headers).toMatchObject(sent)
    })

    const create = (name: string) =>
      `${name}: createUser(input: { name: "${name}", email: "${name}@example.com", phone: "1" }) { user { id orders { id } } }`

    it('forwards idempotency keys: a mutation that is sent again runs once', async () => {
      const headers = { 'x-api-key': tenant.key, 'idempotency-key': 'once' }
      const text = `mutation { ${create('one')} }`
      const [first, second] = [await send(router.url, text, headers), await send(router.url, text, headers)]
      expect(first.errors).toBeUndefined()
      expect(first.data).toMatchObject({ one: { user: { id: expect.stringMatching(/^usr_/), orders: [] } } })
      expect(second.data).toEqual(first.data)
    })

    it('sends the fields of a mutation together, or each with the same idempotency key', async () => {
      const headers = { 'x-api-key': tenant.key, 'idempotency-key': 'two-fields' }
      const { errors } = await send(router.url, `mutation { ${create('one')} ${create('other')} }`, headers)
      expect(errors?.map(({ extensions }) => extensions.code) ?? []).toEqual(codesOfSecondField)
    })

    it('forwards the token of an identity provider: a user sees only what belongs to the user', async () => {
      const { user } = await createOneOfEach(app, tenant)
      const headers = { authorization: `Bearer ${await provider.sign(rows.user.id)}` }
      const text = `{ viewer { user { id } } users { nodes { id orders { total } } } other: user(id: "${user.id}") { id } }`
      expect((await send(router.url, text, headers)).data).toEqual({
        viewer: { user: { id: rows.user.id } },
        users: { nodes: [{ id: rows.user.id, orders: [{ total: 1_000 }, { total: 2_000 }] }] },
        other: null,
      })
    })

    it('forwards the codes of errors', async () => {
      const { user } = rows
      const wrong = [{}, { 'x-api-key': 'wrong' }, { authorization: 'Bearer wrong' }]
      for (const headers of wrong) {
        expect(await send(router.url, '{ users { nodes { id } } }', headers)).toMatchObject({
          errors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
        })
      }
      const { key } = await createKey(app.database, {
        tenantAppId: tenant.tenantAppId,
        name: 'jobs',
        scopes: ['jobs:read'],
      })
      expect((await send(router.url, '{ users { nodes { id } } }', { 'x-api-key': key })).errors).toMatchObject([
        { extensions: { code: 'FORBIDDEN' } },
      ])
      const { errors } = await send(router.url, `{ user(id: "${user.id}") { accounts(first: -1) { id } } }`, {
        'x-api-key': tenant.key,
      })
      expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
    })

    it('tells a client that has spent its points', async () => {
      const { key } = await createKey(app.database, {
        tenantAppId: tenant.tenantAppId,
        name: 'few points',
        pointsPerMinute: 5,
      })
      const headers = { 'x-api-key': key }
      const text = '{ users(first: 4) { pageInfo { hasNextPage } } }'
      expect((await send(router.url, text, headers)).errors).toBeUndefined()
      const refused = await send(router.url, text, headers)
      expect(refused).toMatchObject({ status: 200, errors: [{ extensions: { code: 'RATE_LIMITED', remaining: 1 } }] })
      expect(refused.headers.get('retry-after')).toEqual(retryAfter)
    })

    it.runIf(hasSubscriptions)('forwards subscriptions as server-sent events', async () => {
      const job = await factoriesFor(app, tenant).job()
      const events = await subscribe(
        new URL(router.url).origin,
        tenant.key,
        `subscription { job(id: "${job.id}") { status } }`,
      )
      expect(await events.next()).toMatchObject({ event: 'next', data: { data: { job: { status: 'PENDING' } } } })
      events.close()
    })

    it.runIf(hasSubscriptions).each(['headers', 'connectionParams'])(
      'forwards subscriptions over WebSockets, with the key in %s',
      async (place) => {
        const credentials = { 'x-api-key': tenant.key }
        class Socket extends WebSocket {
          constructor(address: string, protocol: string) {
            super(address, protocol, { headers: place === 'headers' ? credentials : {} })
          }
        }
        const client = createClient({
          url: router.url.replace('http', 'ws'),
          webSocketImpl: Socket,
          ...(place === 'connectionParams' && { connectionParams: credentials }),
        })
        onTestFinished(() => client.dispose())
        const query = `subscription { user(id: "${rows.user.id}") { name orders { total } } }`
        const messages = client.iterate({ query })
        const orders = [{ total: 1_000 }, { total: 2_000 }]
        expect(await messages.next()).toMatchObject({ value: { data: { user: { orders } } } })
        const rename = `mutation { updateUser(input: { id: "${rows.user.id}", name: "By ${place}" }) { user { id } } }`
        await app.graphql(tenant, rename)
        expect(await messages.next()).toMatchObject({ value: { data: { user: { name: `By ${place}`, orders } } } })
        await messages.return?.()
      },
    )
  },
)

describe.skipIf(!hasExample('supergraph', 'docs/recipes/federation.md'))('the supergraph composes', () => {
  const schemas = { fusion: printSubgraphSchema(), orders: readPage('examples/supergraph/orders.graphql') }
  const subgraphs = Object.entries(schemas).map(([name, text]) => ({
    name,
    url: `http://${name}`,
    document: parse(text),
  }))
  const load = (name: string) => import(createRequire(path.join(example, 'compose.js')).resolve(name))

  it('for Apollo Router', async () => {
    const { composeServices } = await load('@apollo/composition')
    const { errors, supergraphSdl } = composeServices(
      subgraphs.map(({ document, ...subgraph }) => ({ ...subgraph, typeDefs: document })),
    )
    expect(errors).toBeUndefined()
    expect(supergraphSdl).toContain('type Order')
  })

  it('for Cosmo Router', async () => {
    const { federateSubgraphs, LATEST_ROUTER_COMPATIBILITY_VERSION: version } = await load('@wundergraph/composition')
    const result = federateSubgraphs({
      subgraphs: subgraphs.map(({ document, ...subgraph }) => ({ ...subgraph, definitions: document })),
      version,
    })
    expect(result).toMatchObject({ success: true })
    expect(result.warnings).toEqual([])
  })
})

describe('the configuration files', () => {
  const forwarded = async () => (await import(path.join(example, 'forwarded.js'))).forwarded
  const read = (file: string) => parseYaml(readPage(`examples/supergraph/${file}`))

  it('of Apollo Router forwards what Hive Gateway does', async () => {
    const { headers } = read('apollo-router.yaml')
    const rules: { propagate: { named: string } }[] = headers.all.request
    expect(rules.map(({ propagate }) => propagate.named)).toEqual(await forwarded())
  })

  it('of Cosmo Router forwards what Hive Gateway does', async () => {
    const { headers } = read('cosmo-router.yaml')
    const rules: { op: string; named: string }[] = headers.all.request
    expect(rules.map(({ named }) => named.toLowerCase())).toEqual(await forwarded())
    // Go finds a header by its canonical name.
    for (const { op, named } of rules)
      expect([op, named]).toEqual(['propagate', expect.stringMatching(/^([A-Z][a-z]*-?)+$/)])
  })
})
