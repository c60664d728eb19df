import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway } from '../support/cli.ts'
import { createDataDir } from '../support/data-dir.ts'
import { subscribe } from '../support/events.ts'
import { initSocket } from '../support/web-socket.ts'
import { type Collector, type ReceivedSpan, startCollector } from './collector.ts'

const kinds = { internal: 1, server: 2, client: 3 }

/** The demo data of the gateways of this file, which run one after the other. */
const dataDir = createDataDir()
afterAll(() => rmSync(dataDir, { recursive: true }))

const nested = 'query Nested { users(first: 2) { nodes { name accounts { profile { username } } } } }'

let key: string

async function start(env: Record<string, string>): Promise<RunningGateway> {
  const gateway = await startGateway({ DATA_DIR: dataDir, ...env })
  key = readFileSync(path.join(dataDir, 'demo-key'), 'utf8').trim()
  return gateway
}

async function send(gateway: RunningGateway, url: string, init: RequestInit = {}) {
  const headers = { 'x-api-key': key, 'content-type': 'application/json', ...init.headers }
  const response = await fetch(gateway.address + url, { ...init, headers })
  return { status: response.status, body: await response.text(), id: response.headers.get('x-request-id') ?? '' }
}

function graphql(gateway: RunningGateway, query: string, variables = {}, headers: Record<string, string> = {}) {
  return send(gateway, '/graphql', { method: 'POST', body: JSON.stringify({ query, variables }), headers })
}

/** Reads from the log how many statements a request has sent. */
async function statementsOf(gateway: RunningGateway, requestId: string): Promise<number> {
  for (;;) {
    const line = gateway
      .output()
      .split('\n')
      .find((text) => text.includes(requestId) && text.includes('"msg":"request"'))
    if (line !== undefined) return JSON.parse(line).sql
    await sleep(10)
  }
}

/** Groups the spans of a trace by level. Fails if a span has the wrong parent. */
function levelsOf(spans: readonly ReceivedSpan[]) {
  const [request, ...others] = spans.filter(({ kind }) => kind === kinds.server)
  expect(others).toEqual([])
  const operations = spans.filter(({ kind }) => kind === kinds.internal)
  const statements = spans.filter(({ kind }) => kind === kinds.client)
  expect(operations.every(({ parentSpanId }) => parentSpanId === request?.spanId)).toBe(true)
  const parents = new Set([request, ...operations].map((span) => span?.spanId))
  expect(statements.every(({ parentSpanId }) => parents.has(parentSpanId))).toBe(true)
  const childrenOf = (span: ReceivedSpan | undefined) =>
    statements.filter(({ parentSpanId }) => parentSpanId === span?.spanId)
  return { request, operations, statements, childrenOf }
}

/** The names of operations, which their spans have as an attribute: clients choose them. */
function namesOf(operations: readonly ReceivedSpan[]): unknown[] {
  return operations.map(({ attributes }) => attributes['graphql.operation.name'])
}

describe('a gateway with a collector', () => {
  let collector: Collector
  let gateway: RunningGateway

  beforeAll(async () => {
    collector = await startCollector()
    gateway = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      BATCHING: 'on',
      // A repeated query would send no statement of its operation.
      RESPONSE_CACHE_MIB: '0',
    })
  })
  afterAll(async () => {
    await gateway.stop()
    collector.close()
  })

  it('sends one trace of a request, its operation and its statements', async () => {
    // The first request reads the key. Later requests are compiled.
    const requests = [await graphql(gateway, nested), await graphql(gateway, nested), await graphql(gateway, nested)]
    for (const { id, status } of requests) {
      expect(status).toBe(200)
      const { request, operations, statements, childrenOf } = levelsOf(await collector.trace(id))
      expect(request).toMatchObject({ name: 'POST /graphql', service: 'fusion-gateway' })
      expect(request?.parentSpanId).toBeUndefined()
      expect(request?.attributes).toMatchObject({
        'http.request.method': 'POST',
        'http.route': '/graphql',
        'http.response.status_code': 200,
        'fusion.tenant': expect.any(String),
        'fusion.key': 'demo',
      })
      expect(operations).toMatchObject([{ name: 'query' }])
      expect(operations[0]?.attributes).toEqual({
        'graphql.operation.type': 'query',
        'graphql.operation.name': 'Nested',
      })
      expect(statements).toHaveLength(await statementsOf(gateway, id))
      expect(childrenOf(operations[0])).toHaveLength(1)
      expect(childrenOf(operations[0])[0]).toMatchObject({
        name: 'WITH',
        attributes: {
          'db.system.name': 'postgresql',
          'db.operation.name': 'WITH',
          'db.query.text': expect.stringContaining('$1'),
        },
      })
      if (id === requests[0]?.id) expect(childrenOf(request).length).toBeGreaterThan(0)
    }
  })

  it("sends one trace of each operation over a WebSocket, which continues the client's", async () => {
    const client = await initSocket(gateway.address, key)
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const extensions = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` }
    client.send({ type: 'subscribe', id: '1', payload: { query: nested, extensions } })
    expect(await client.next()).toMatchObject({ type: 'next' })
    client.send({ type: 'subscribe', id: '2', payload: { query: nested } })
    const idOf = (number: number) => new RegExp(`"requestId":"([-\\w]+\\.${number})"`).exec(gateway.output())?.[1]
    for (const number of [1, 2]) {
      await expect.poll(() => idOf(number)).toBeDefined()
      const { request, operations, statements } = levelsOf(await collector.trace(idOf(number) ?? ''))
      expect(request).toMatchObject({ name: 'WEBSOCKET /graphql', attributes: { 'fusion.key': 'demo' } })
      expect(request?.traceId === traceId).toBe(number === 1)
      expect(namesOf(operations)).toEqual(['Nested'])
      expect(statements.length).toBeGreaterThan(0)
    }
    client.socket.terminate()
  })

  // These run at the same time, because spans are sent every five seconds.
  it.concurrent('sends one trace of each operation of a batch', async () => {
    const response = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify([{ query: nested }, { query: 'query Who { viewer { keyName } }' }]),
    })
    const id = response.headers.get('x-request-id')
    const names = { 1: 'Nested', 2: 'Who' }
    for (const [number, name] of Object.entries(names)) {
      const { request, operations } = levelsOf(await collector.trace(`${id}.${number}`))
      expect(request).toMatchObject({ name: 'POST /graphql', attributes: { 'fusion.key': 'demo' } })
      expect(namesOf(operations)).toEqual([name])
    }
  })

  it.concurrent("continues the client's trace, and omits requests that the client does not sample", async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const traceparent = (flags: string) => ({ traceparent: `00-${traceId}-b7ad6b7169203331-${flags}` })
    await graphql(gateway, 'query Unsampled { viewer { keyName } }', {}, traceparent('00'))
    const { id } = await graphql(gateway, 'query Sampled { viewer { keyName } }', {}, traceparent('01'))
    const spans = await collector.trace(id)
    const { request, operations } = levelsOf(spans)
    expect(request).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331' })
    expect(namesOf(operations)).toEqual(['Sampled'])
    const broken = await graphql(gateway, nested, {}, { traceparent: 'nonsense' })
    expect(levelsOf(await collector.trace(broken.id)).request?.traceId).toMatch(/^[\da-f]{32}$/)
  })

  it.concurrent('records the stored operation of a REST route, and a run for each page of a stream', async () => {
    const one = await send(gateway, '/users/usr_demo_1')
    const { request, operations, childrenOf } = levelsOf(await collector.trace(one.id))
    expect(request).toMatchObject({ name: 'GET /users/:id', attributes: { 'http.response.status_code': 200 } })
    expect(operations).toHaveLength(1)
    expect(childrenOf(operations[0])).toHaveLength(await statementsOf(gateway, one.id))
    const list = await send(gateway, '/users')
    const { operations: pages } = levelsOf(await collector.trace(list.id))
    expect(pages.length).toBe(Math.max(1, Math.ceil(JSON.parse(list.body).users.length / 500)))
  })

  it.concurrent('records the error code of a failed operation', async () => {
    const { id } = await graphql(gateway, 'query Refused { users(first: -1) { nodes { id } } }')
    const { request, operations } = levelsOf(await collector.trace(id))
    expect(request?.status.code).toBe(0)
    expect(operations[0]).toMatchObject({ attributes: { 'error.type': 'BAD_USER_INPUT' }, status: { code: 2 } })
    const unknown = await send(gateway, '/no/such/route-Zanzibar')
    expect((await collector.trace(unknown.id)).map(({ name }) => name)).toEqual(['GET'])
  })

  it.concurrent('records an operation for each event of a subscription', async () => {
    const query = 'subscription Follow { job(id: "job_demo_1") { status } }'
    const events = await subscribe(gateway.address, key, query)
    expect((await events.next())?.data).toMatchObject({ data: { job: {} } })
    const id = events.headers.get('x-request-id') ?? ''
    events.close()
    const { operations, statements } = levelsOf(await collector.trace(id))
    expect(operations[0]?.name).toBe('subscription')
    expect(namesOf(operations)[0]).toBe('Follow')
    // The source of the events reads the job before the operation is executed.
    expect(statements.map(({ attributes }) => attributes['db.query.text'])).toContainEqual(
      expect.stringMatching(/FROM job/),
    )
  })

  it.concurrent('records no key, no variable and no literal', async () => {
    const create = `mutation Make($payload: JSONObject!, $type: String!) {
      createJob(input: { jobType: $type, payload: $payload }) { job { id } userErrors { message } }
    }`
    const created = await graphql(
      gateway,
      create,
      { type: 'Zanzibar_type', payload: { secret: "it's Zanzibar" } },
      { 'idempotency-key': '"Zanzibar"' },
    )
    expect(JSON.parse(created.body).data.createJob.job).not.toBeNull()
    const requests = [
      created,
      await graphql(gateway, '{ users(first: 1, filter: { nameContains: "Zanzibar" }) { nodes { id } } }'),
      await graphql(gateway, '{ user(id: "usr_Zanzibar") { Zanzibar: name } }'),
      await graphql(gateway, '{ nothing(of: "Zanzibar") }'),
      await send(gateway, '/users/usr_Zanzibar?Zanzibar=1'),
      await send(gateway, '/users', {
        method: 'POST',
        body: JSON.stringify({ name: 'Zanzibar', email: 'Zanzibar@example.com', phone: null }),
      }),
      await send(gateway, `/graphql?query=${encodeURIComponent('{ user(id: "Zanzibar") { name } }')}`),
    ]
    for (const { id } of requests) levelsOf(await collector.trace(id))
    const { statements } = levelsOf(await collector.trace(created.id))
    expect(statements.map(({ name }) => name)).toEqual(expect.arrayContaining(['BEGIN', 'INSERT', 'COMMIT']))
    const all = JSON.stringify(collector.spans)
    expect(all).not.toContain('Zanzibar')
    expect(all).not.toContain(key)
    for (const { attributes } of collector.spans) {
      expect(String(attributes['db.query.text'] ?? '').length).toBeLessThanOrEqual(2_000)
    }
  })
})

it('a gateway sends the remaining spans when it stops', async () => {
  const collector = await startCollector()
  const gateway = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: 'other' })
  const { id } = await graphql(gateway, nested)
  expect(collector.spans).toEqual([])
  expect((await gateway.stop('SIGTERM')).code).toBe(0)
  expect((await collector.trace(id))[0]).toMatchObject({ service: 'other' })
  collector.close()
})

describe('a gateway whose collector', () => {
  const env = { OTEL_EXPORTER_OTLP_TIMEOUT: '500' }
  /** How long a gateway without a collector takes to stop. */
  let usual: number

  beforeAll(async () => {
    const gateway = await start({})
    expect((await graphql(gateway, nested)).status).toBe(200)
    usual = (await gateway.stop('SIGTERM')).milliseconds
  })

  it('is unreachable answers requests, logs one line and delays a stop by little more than a second', async () => {
    const gateway = await start({ ...env, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })
    expect((await graphql(gateway, nested)).status).toBe(200)
    await expect.poll(() => gateway.output(), { timeout: 30_000 }).toContain('the trace collector accepts no spans')
    expect((await graphql(gateway, nested)).status).toBe(200)
    await sleep(6_500)
    expect(gateway.output().match(/the trace collector accepts no spans/g)).toHaveLength(1)
    const { code, milliseconds } = await gateway.stop('SIGTERM')
    expect(code).toBe(0)
    expect(milliseconds).toBeLessThan(usual + 2_500)
  })

  it('accepts connections but never answers delays a stop by little more than a second', async () => {
    const silent = createServer((socket) => void socket.on('error', () => undefined)).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const gateway = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
    expect((await graphql(gateway, nested)).status).toBe(200)
    const { code, milliseconds } = await gateway.stop('SIGTERM')
    expect(code).toBe(0)
    expect(milliseconds).toBeLessThan(usual + 2_500)
    silent.close()
  })
})

it('a gateway loads the OpenTelemetry SDK and the client of Redis only if they are configured, and else sends no spans', async () => {
  // Other packages may load parts of OpenTelemetry, such as its API.
  const reportLoaded = `import { registerHooks } from 'node:module'
    const files = []
    registerHooks({ load: (file, context, next) => (files.push(file), next(file, context)) })
    process.on('exit', () => {
      const packages = ['@opentelemetry/sdk-trace', '@redis/client']
      const isLoaded = (name) => files.some((file) => file.includes(name))
      process.stdout.write('loaded: ' + packages.map(isLoaded))
    })`
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(reportLoaded)}`
  const collector = await startCollector()
  for (const { isConfigured, env } of [
    { isConfigured: false, env: { OTEL_EXPORTER_OTLP_ENDPOINT: '', REDIS_URL: '' } },
    // Nothing listens on this port. The gateway starts without Redis.
    { isConfigured: true, env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, REDIS_URL: 'redis://127.0.0.1:1' } },
  ]) {
    const gateway = await start({ NODE_OPTIONS, ...env })
    await graphql(gateway, nested)
    await gateway.stop()
    await expect.poll(gateway.output).toContain(`loaded: ${isConfigured},${isConfigured}`)
    expect(collector.spans.length > 0).toBe(isConfigured)
  }
  collector.close()
})

it('a gateway rejects an endpoint that it cannot use', async () => {
  await expect(start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' })).rejects.toThrow('must be a URL')
})
