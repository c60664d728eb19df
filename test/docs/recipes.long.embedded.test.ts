import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createTokenHandler, tokenDocument } from '@fusion-gateway/client/server'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startGateway } from '../support/cli.ts'
import { freePort } from '../support/cluster.ts'
import { createDataDir } from '../support/data-dir.ts'
import { projectRoot, readBlocks } from '../support/docs.ts'
import { subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { hasExample } from '../support/skip.ts'

describe.skipIf(!hasExample('relay'))('docs/recipes/relay.md', () => {
  let copy: string
  beforeAll(() => {
    copy = mkdtempSync(path.join(tmpdir(), 'fusion-relay-'))
    mkdirSync(path.join(copy, 'examples'))
    cpSync(path.join(projectRoot, 'schema.graphql'), path.join(copy, 'schema.graphql'))
    cpSync(path.join(projectRoot, 'examples/relay'), path.join(copy, 'examples/relay'), {
      recursive: true,
      filter: (file) => !/documents\.json$|__generated__/.test(file),
    })
    symlinkSync(path.join(projectRoot, 'node_modules'), path.join(copy, 'node_modules'))
  })
  afterAll(() => rmSync(copy, { recursive: true }))

  it('compiles documents that the gateway trusts, and Relay runs them by their ids', async () => {
    const example = path.join(copy, 'examples/relay')
    const [compile] = readBlocks('docs/recipes/relay.md').filter(({ code }) => code.includes('npx relay-compiler'))
    execFileSync('sh', ['-ec', compile?.code ?? 'exit 1'], { cwd: example, stdio: 'pipe' })
    // Bundlers resolve imports without an extension. Node does not.
    const refetchable = path.join(example, 'src/__generated__/userPages_users.graphql.js')
    const text = readFileSync(refetchable, 'utf8')
    writeFileSync(refetchable, text.replaceAll(".graphql'", ".graphql.js'"))

    const dataDir = createDataDir()
    const tokenFile = path.join(example, 'token.json')
    const create = `mutation Create($name: String!) {
      createUser(input: { name: $name, email: "a@example.com", phone: "1" }) { user { id } }
    }`
    const createKey = `mutation CreateKey {
      createApiKey(input: { name: "backend", scopes: ["tokens:create", "users:read", "users:write", "events:read"] }) { key apiKey { id } }
    }`
    const revokeKey = 'mutation RevokeKey($id: ID!) { revokeApiKey(input: { id: $id }) { apiKey { id } } }'
    writeFileSync(tokenFile, JSON.stringify({ token: tokenDocument, create, createKey, revokeKey }))
    const env = { DATA_DIR: dataDir, TRUSTED_DOCUMENTS: `${path.join(example, 'documents.json')},${tokenFile}` }
    const gateway = await startGateway(env)
    onTestFinished(async () => {
      await gateway.stop()
      rmSync(dataDir, { recursive: true })
    })
    const key = readFileSync(path.join(dataDir, 'demo-key'), 'utf8').trim()
    const load = async (file: string) => import(path.join(example, file))
    const { connect } = await load('src/environment.js')
    const { default: query } = await load('src/__generated__/userListQuery.graphql.js')
    const { fetchQuery } = await load('node_modules/relay-runtime/index.js')
    const url = `${gateway.address}/graphql`
    const run = async (documentId: string, variables = {}) => {
      const headers = { 'content-type': 'application/json', 'x-api-key': key }
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ documentId, variables }) })
      return (await response.json()).data
    }
    let backendKey = (await run('createKey'))['createApiKey']
    /** Ends all tokens. */
    const replaceKey = async () => {
      const old = backendKey
      backendKey = (await run('createKey'))['createApiKey']
      await run('revokeKey', { id: old.apiKey.id })
    }
    // The gateway and the token backend have the origin of the page.
    const request = globalThis.fetch
    let tokens = 0
    const origin = vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
      if (String(input) !== `${gateway.address}/token`) return request(input, init)
      tokens += 1
      const inputFor = async () => ({ scopes: ['users:read', 'users:write', 'events:read'] })
      return createTokenHandler({ url, apiKey: backendKey.key, inputFor })(new Request(input, init))
    })
    onTestFinished(() => origin.mockRestore())
    const environment = connect(gateway.address)
    const { users } = await fetchQuery(environment, query, { count: 2 }).toPromise()
    expect(users.edges).toMatchObject([{ node: { name: expect.any(String) } }, { node: { name: expect.any(String) } }])

    // The pages of a list, and an item by its id.
    const readDocument = async (name: string, variables: object) => {
      const { default: document } = await load(`src/__generated__/${name}.graphql.js`)
      await fetchQuery(environment, document, variables).toPromise()
      return environment.lookup(createOperationDescriptor(document, variables).fragment).data
    }
    const { createOperationDescriptor, getSelector } = await load('node_modules/relay-runtime/index.js')
    const { default: fragment } = await load('src/__generated__/userPages_users.graphql.js')
    const readPages = (owner: object) => environment.lookup(getSelector(fragment, owner)).data.users
    const { edges, pageInfo } = readPages(await readDocument('userPagesQuery', {}))
    expect(edges).toHaveLength(20)
    const more = readPages(await readDocument('userPagesNextQuery', { count: 5, cursor: pageInfo.endCursor }))
    expect(more.edges).toHaveLength(25)
    const { id } = more.edges.at(-1).node
    expect(await readDocument('userPagesUserQuery', { id })).toMatchObject({ node: { __id: `User:${id}` } })

    // A live query, which a page follows until it no longer shows it.
    vi.stubGlobal('window', globalThis)
    onTestFinished(() => void vi.unstubAllGlobals())
    const { liveOptions } = await load('src/live-options.js')
    const { default: liveQuery } = await load('src/__generated__/liveUsersQuery.graphql.js')
    const operation = createOperationDescriptor(liveQuery, {}, liveOptions.networkCacheConfig)
    const count = () => environment.lookup(operation.fragment).data?.users?.totalCount
    const shown = environment.retain(operation)
    const following = environment.execute({ operation }).toPromise()
    await vi.waitFor(() => expect(count()).toBeGreaterThan(0))
    const before = count()
    await run('create', { name: 'Live' })
    await vi.waitFor(() => expect(count()).toBe(before + 1), 5_000)
    shown.dispose()
    await following

    // A subscription whose token ends starts again with a new one, after the last event.
    const { requestSubscription } = await load('node_modules/relay-runtime/index.js')
    const { default: subscription } = await load('src/__generated__/followChangesSubscription.graphql.js')
    const seen: string[] = []
    const { dispose } = requestSubscription(environment, {
      subscription,
      variables: { after: null },
      onNext: ({ events }: { events: { resourceId: string } }) => void seen.push(events.resourceId),
    })
    const createAndSee = async (name: string) => {
      const { id } = (await run('create', { name }))['createUser'].user
      await vi.waitFor(() => expect(seen).toContain(id), 10_000)
    }
    await createAndSee('With the first token')
    const asked = tokens
    await replaceKey()
    await vi.waitFor(() => expect(tokens).toBeGreaterThan(asked), 10_000)
    await createAndSee('With the next token')
    dispose()
    expect(new Set(seen).size).toBe(seen.length)

    // So does a request, and what a person did once is done once.
    await replaceKey()
    const action = crypto.randomUUID()
    const ids: string[] = []
    for (let click = 1; click <= 2; click += 1) {
      const request = { id: 'create', operationKind: 'mutation' }
      const sent = environment.getNetwork().execute(request, { name: 'Once' }, { metadata: { action } })
      ids.push((await sent.toPromise()).data.createUser.user.id)
    }
    expect(new Set(ids).size).toBe(1)

    const other = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify({ query: '{ viewer { keyName } }' }),
    })
    expect(other.status).toBe(403)
  })
})

describe.skipIf(!hasExample('hive-gateway'))('docs/recipes/hive-gateway.md', () => {
  let app: TestApp
  let hive: { readonly address: string; stop(): Promise<unknown> }
  /** A trusted document, in a format that no printer writes. */
  const mine = 'query Mine  { viewer { keyName }}'
  /** The requests that Hive Gateway has sent. */
  const requests: IncomingMessage[] = []
  beforeAll(async () => {
    const trusted = { others: 'log', byId: new Map(), texts: new Set([mine]) } as const
    app = await startTestApp({ introspection: false, trustedDocuments: trusted })
    app.app.server.on('request', (request) => requests.push(request))
    await app.app.listen({ host: '127.0.0.1', port: 0 })
    hive = await startHive(`http://127.0.0.1:${(app.app.server.address() as AddressInfo).port}/graphql`)
  })
  afterAll(async () => {
    await hive?.stop()
    await app.close()
  })

  async function startHive(endpoint: string) {
    const [block] = readBlocks('docs/recipes/hive-gateway.md').filter(({ code }) => code.includes('npx hive-gateway'))
    const [install, start = ''] = block?.code.trim().split('\n') ?? []
    expect(install).toBe('npm ci')
    const command = start.replace('npx ', 'exec node node_modules/.bin/').replace('4400', String(await freePort()))
    const child = spawn('sh', ['-ec', command], {
      cwd: path.join(projectRoot, 'examples/hive-gateway'),
      env: { ...process.env, FUSION_URL: endpoint, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const address = await new Promise<string>((resolve, reject) => {
      const read = (chunk: Buffer) => {
        output += chunk.toString()
        const [, found] = /Listening on (http:\/\/[\d.:]+)/.exec(output) ?? []
        if (found) resolve(found)
      }
      child.stdout.on('data', read)
      child.stderr.on('data', read)
      child.once('exit', (code) => reject(new Error(`Hive Gateway exited with ${code}:\n${output}`)))
    })
    const stop = async () => {
      const exited = once(child, 'exit')
      child.kill()
      await exited
    }
    return { address, stop }
  }

  async function send(headers: Record<string, string>, query: string) {
    const response = await fetch(`${hive.address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    })
    return (await response.json()) as { data: Record<string, unknown>; errors?: { extensions: { code: string } }[] }
  }

  it('forwards who calls, traces and idempotency keys, and each tenant reads its own rows', async () => {
    const tenants = await Promise.all([app.createTenant(), app.createTenant()])
    const responses = await Promise.all(tenants.map(({ key }) => send({ 'x-api-key': key }, mine)))
    expect(responses.map(({ data }) => data)).toEqual(
      tenants.map(({ name }) => ({ viewer: { keyName: `key of ${name}` } })),
    )
    expect((await send({}, mine)).errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }])

    // The text has arrived as it was sent.
    expect(app.log.filter(({ msg }) => msg === 'a document is not trusted')).toEqual([])

    const client = {
      'graphql-client-name': 'web',
      'graphql-client-version': '1',
      'apollographql-client-name': 'web',
      'apollographql-client-version': '1',
      'x-position': 'yes',
    }
    const headers = {
      authorization: 'Bearer a-token',
      'idempotency-key': 'one',
      tracestate: 'a=b',
      cookie: 'c=d',
      ...client,
    }
    await send(headers, mine)
    const { cookie, ...forwarded } = headers
    expect(requests.at(-1)?.headers).toMatchObject(forwarded)
    expect(requests.at(-1)?.headers).not.toHaveProperty('cookie', cookie)
  })

  it('forwards access tokens: a user sees only what belongs to the user', async () => {
    const tenant = await app.createTenant()
    const make = factoriesFor(app, tenant)
    const [user, other] = [await make.user(), await make.user()]
    const create = 'mutation ($id: ID!) { createAccessToken(input: { userId: $id }) { accessToken } }'
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(tenant, create, { id: user.id })
    const authorization = `Bearer ${data.createAccessToken.accessToken}`
    const mine = `{ viewer { user { id } } users { nodes { id } } other: user(id: "${other.id}") { id } }`
    const response = await send({ authorization }, mine)
    expect(response.errors).toBeUndefined()
    expect(response.data).toEqual({
      viewer: { user: { id: user.id } },
      users: { nodes: [{ id: user.id }] },
      other: null,
    })
    const { errors } = await send({ authorization: 'Bearer wrong' }, mine)
    expect(errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }])
  })

  it('forwards subscriptions, and ends them when the client leaves', async () => {
    const tenant = await app.createTenant()
    const job = await factoriesFor(app, tenant).job()
    const events = await subscribe(hive.address, tenant.key, `subscription { job(id: "${job.id}") { status } }`)
    expect(await events.next()).toMatchObject({ event: 'next', data: { data: { job: { status: 'PENDING' } } } })
    const ended = once(requests.at(-1)?.socket as NonNullable<IncomingMessage['socket']>, 'close')
    events.close()
    await ended
  })
})

it('docs/recipes/identity-provider.md signs a token that the gateway accepts', async () => {
  const copy = mkdtempSync(path.join(tmpdir(), 'fusion-identity-'))
  onTestFinished(() => rmSync(copy, { recursive: true }))
  const example = path.join(copy, 'examples/identity-provider')
  cpSync(path.join(projectRoot, 'examples/identity-provider'), example, {
    recursive: true,
    filter: (file) => !/(jwks|private-key)\.json$/.test(file),
  })
  symlinkSync(path.join(projectRoot, 'node_modules'), path.join(copy, 'node_modules'))
  const commands = readBlocks('docs/recipes/identity-provider.md').filter(({ language }) => language === 'sh')
  const [sign = '', start = '', ask = ''] = commands.map(({ code }) => code)
  const run = (script: string) => execFileSync('bash', ['-ec', script], { cwd: copy, encoding: 'utf8' })

  const token = run(`${sign}echo "$TOKEN"`).trim()
  const [, issuers = ''] = /^TRUSTED_ISSUERS=(\S+) npm start$/m.exec(start) ?? []
  const gateway = await startGateway({
    DATA_DIR: createDataDir(path.join(copy, 'data')),
    TRUSTED_ISSUERS: path.join(copy, issuers),
  })
  onTestFinished(async () => void (await gateway.stop()))
  const response = run(`TOKEN=${token}\n${ask.replace('http://127.0.0.1:4000', gateway.address)}`)
  expect(JSON.parse(response).data.viewer).toEqual({
    keyName: 'https://id.example.com/',
    scopes: ['users:read', 'profiles:read'],
    user: { id: 'usr_demo_2', name: expect.any(String) },
  })
  // The keys stay the same.
  expect(run(`${sign}echo "$TOKEN"`).split('.')[0]).toBe(token.split('.')[0])
})
