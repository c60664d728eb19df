import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { loadPlugins } from '@fusion-gateway/http'
import { GraphQLError, type ValidationRule } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { fusion } from '../support/cli.ts'
import { addressOf } from '../support/events.ts'
import { connectTo } from '../support/mcp.ts'
import { type Transport, transports } from '../support/transports.ts'

// Plugins of operators, as docs/recipes/plugins.md says.

let app: TestApp | undefined
let tenant: TestTenant
async function start(plugins: Plugin[], options: Parameters<typeof startTestApp>[0] = {}): Promise<TestApp> {
  app = await startTestApp({ plugins, batching: true, ...options })
  tenant = await app.createTenant()
  return app
}
afterEach(async () => {
  await app?.close()
  app = undefined
})

const post = (payload: object, headers = {}) =>
  (app as TestApp).app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': tenant.key, ...headers },
    payload,
  })

describe('the plugins of examples/plugins/plugins.js', () => {
  let hive: Server
  let reports: { readonly path: string; readonly headers: IncomingMessage['headers']; readonly body: unknown }[]
  beforeAll(async () => {
    reports = []
    hive = createServer(async (request, response) => {
      reports.push({ path: request.url ?? '', headers: request.headers, body: await json(request) })
      response.setHeader('content-type', 'application/json').end('{}')
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => hive.once('listening', resolve))
    const { port } = hive.address() as { port: number }
    process.env['HIVE_URL'] = `http://127.0.0.1:${port}`
    process.env['HIVE_TOKEN'] = 'hive-token'
  })
  afterAll(() => hive.close())

  it('report usage, set a cookie and refuse subscriptions', async () => {
    await start(await loadPlugins(['examples/plugins/plugins.js']))
    const response = await post({
      query: 'query Hello($id: ID!) { user(id: $id) { name } }',
      variables: { id: 'usr_1' },
    })
    expect(response.json()).toMatchObject({ data: { user: null } })
    expect(response.headers['set-cookie']).toContain(`gateway=${hostname()}`)
    expect(response.headers).toMatchObject({ 'x-request-id': expect.any(String), 'x-cost': expect.any(String) })

    const { database } = app as TestApp
    await database.prisma.apiKey.updateMany({ data: { name: 'reports' } })
    const subscription = 'subscription { events { type } }'
    const refused = await post({ query: subscription }, { accept: 'text/event-stream' })
    expect(refused.body).toContain('"code":"INTERNAL"')

    await app?.close()
    app = undefined
    const operation = { operationName: 'Hello', fields: expect.arrayContaining(['Query.user', 'User.name']) }
    const report = reports.find(({ path }) => path.startsWith('/usage'))
    expect(report?.headers['authorization']).toBe('Bearer hive-token')
    expect(Object.values(Object(report?.body).map)).toContainEqual(expect.objectContaining(operation))
    expect(inspect(reports, { depth: 20 })).not.toContain(tenant.key)
  })
})

describe('a plugin', () => {
  interface Seen {
    readonly hook: string
    readonly viewer: string | undefined
    readonly requestId: string | undefined
    /** Everything that it could log. */
    readonly all: string
  }
  let seen: Seen[]
  const note = (hook: string, payload: object, context?: object) => {
    const { gateway } = (context ?? {}) as { gateway?: { viewer?: { tenantAppId: string }; requestId?: string } }
    const all = inspect([payload, context], { depth: 8 })
    seen.push({ hook, viewer: gateway?.viewer?.tenantAppId, requestId: gateway?.requestId, all })
  }
  const ofEnvelop: Plugin = {
    onParse: (payload) => note('onParse', payload, payload.context),
    onValidate: (payload) => note('onValidate', payload, payload.context),
    onContextBuilding: (payload) => note('onContextBuilding', payload, payload.context),
    onExecute: (payload) => note('onExecute', payload, payload.args.contextValue),
    onSubscribe: (payload) => note('onSubscribe', payload, payload.args.contextValue),
  }
  const ofHttp: Plugin = {
    onRequest: (payload) => note('onRequest', { ...payload, headers: [...payload.request.headers] }),
    onParams: (payload) => note('onParams', payload, payload.context),
    onResultProcess: (payload) => note('onResultProcess', payload, payload.serverContext),
    onResponse: (payload) => note('onResponse', { ...payload, headers: [...payload.request.headers] }),
  }
  const query = 'query Hello { viewer { keyName } }'
  const hooks = () => [...new Set(seen.map(({ hook }) => hook))]

  it.each<[string, () => Promise<unknown>, readonly string[]]>([
    ['POST', () => post({ query }), ['onContextBuilding', 'onParse', 'onValidate', 'onExecute']],
    ['a batch', () => post([{ query }]), ['onContextBuilding', 'onParse', 'onValidate', 'onExecute']],
    [
      'GET',
      () =>
        (app as TestApp).app.inject({
          url: `/graphql?query=${encodeURIComponent(query)}`,
          headers: { 'x-api-key': tenant.key, cookie: `session=${tenant.key}`, authorization: '' },
        }),
      ['onContextBuilding', 'onParse', 'onValidate', 'onExecute'],
    ],
    ['REST', () => (app as TestApp).rest(tenant, 'GET', '/users/usr_1'), ['onContextBuilding', 'onExecute']],
  ])('sees the operation of %s, who requests it, and no credential', async (_name, request, expected) => {
    seen = []
    await start([ofEnvelop, ofHttp])
    await request()
    expect(hooks()).toEqual(expect.arrayContaining([...expected]))
    const executed = seen.find(({ hook }) => hook === 'onExecute')
    expect(executed).toMatchObject({ viewer: tenant.tenantAppId, requestId: expect.stringMatching(/./) })
    expect(seen.filter(({ all }) => all.includes(tenant.key)).map(({ hook }) => hook)).toEqual([])
  })

  it('sees the calls of MCP tools', async () => {
    seen = []
    const { call } = await connectTo(await addressOf(await start([ofEnvelop])), { 'x-api-key': tenant.key })
    await call('get_user', { id: 'usr_1' })
    expect(hooks()).toContain('onExecute')
  })

  it('sees HTTP only if it has a hook of it', async () => {
    seen = []
    await start([ofEnvelop])
    await post({ query })
    expect(hooks()).not.toContain('onRequest')
    await app?.close()
    await start([ofEnvelop, ofHttp])
    await post({ query })
    expect(hooks()).toEqual(expect.arrayContaining(['onRequest', 'onParams', 'onResultProcess', 'onResponse']))
  })

  it.each(Object.keys(transports) as Transport[])('sees a subscription over %s', async (transport) => {
    seen = []
    const address = await addressOf(await start([ofEnvelop]))
    const { until } = await transports[transport](address, tenant.key, 'subscription { events { type } }')
    if (transport !== 'WebSocket') await until('')
    await expect.poll(() => hooks()).toContain('onSubscribe')
    expect(seen.filter(({ all }) => all.includes(tenant.key)).map(({ hook }) => hook)).toEqual([])
  })

  const noViewer: ValidationRule = (context) => ({
    Field(node) {
      if (node.name.value === 'viewer') context.reportError(new GraphQLError('Nobody asks for the viewer'))
    },
  })

  it('adds a rule for documents, of all transports', async () => {
    const started = await start([{ onValidate: ({ addValidationRule }) => addValidationRule(noViewer) }])
    const refusal = { message: 'Nobody asks for the viewer', extensions: { code: 'BAD_USER_INPUT' } }
    // The second one finds the document prepared.
    for (let times = 0; times < 2; times += 1) {
      expect((await post({ query })).json()).toEqual({ errors: [expect.objectContaining(refusal)] })
    }
    expect((await post([{ query }])).json()).toEqual([{ errors: [expect.objectContaining(refusal)] }])
    const { until } = await transports.WebSocket(await addressOf(started), tenant.key, query)
    await until(refusal.message)
  })

  it('changes results, which the memory does not keep', async () => {
    let times = 0
    const countExecutions: Plugin = {
      onExecute: () => ({
        onExecuteDone({ result, setResult }) {
          times += 1
          setResult({ ...result, extensions: { ...Object(result).extensions, times } })
        },
      }),
    }
    await start([countExecutions], { responseCacheBytes: 1024 * 1024 })
    const responses: Record<string, unknown>[] = []
    for (let index = 0; index < 4; index += 1)
      responses.push((await post({ query: '{ users { nodes { id } } }' })).json())
    expect(responses.map(({ extensions }) => Object(extensions).times)).toEqual([1, 2, 3, 4])
    expect(responses.map(({ data }) => data)).toEqual(Array(4).fill({ users: { nodes: [] } }))
  })

  it('that throws makes the operation fail, and the gateway goes on', async () => {
    let throws = true
    await start([
      {
        onExecute() {
          if (throws) throw new Error('a secret of the plugin')
        },
      },
    ])
    const failed = await post({ query })
    expect(failed.json()).toMatchObject({ errors: [{ extensions: { code: 'INTERNAL' } }] })
    expect(failed.body).not.toContain('a secret')
    throws = false
    expect((await post({ query })).json()).toMatchObject({ data: { viewer: {} } })
  })
})

describe('PLUGINS', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'plugins-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const file = (name: string, code: string) => {
    writeFileSync(path.join(folder, name), code)
    return path.join(folder, name)
  }

  it.each([
    ['nothing.js', undefined, 'cannot be loaded'],
    ['syntax.js', 'export default {', 'cannot be loaded'],
    ['named.js', 'export const plugin = { onExecute() {} }', 'must export as its default a plugin'],
    ['typo.js', 'export default [{ onexecute() {} }]', 'must export as its default a plugin'],
    ['none.js', 'export default []', 'must export as its default a plugin'],
  ])('that names %s stops the gateway with a line that says why', async (name, code, problem) => {
    const named = code === undefined ? path.join(folder, name) : file(name, code)
    await expect(loadPlugins([named])).rejects.toMatchObject({
      name: 'OperatorError',
      message: expect.stringMatching(new RegExp(`^PLUGINS: .*${name} ${problem}`)),
    })
  })

  it('is read by serve', async () => {
    const { code, stderr } = await fusion(['serve'], { PLUGINS: 'nothing.js', DATA_DIR: 'memory', PORT: '0' })
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^PLUGINS: nothing\.js cannot be loaded: /)])
  })

  it('loads the plugins of several files in their order', async () => {
    const [one, other] = [
      file('one.js', 'export default { onParse() {} }'),
      file('other.js', 'export default [{ onExecute() {} }, { onSubscribe() {} }]'),
    ]
    expect((await loadPlugins([one, other])).flatMap((plugin) => Object.keys(plugin))).toEqual([
      'onParse',
      'onExecute',
      'onSubscribe',
    ])
  })
})
