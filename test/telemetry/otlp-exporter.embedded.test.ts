import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { loadTracing } from '@fusion-gateway/telemetry'
import { ExportResultCode } from '@opentelemetry/core'
import { type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { readConfig } from '../../src/config.ts'

const { createOtlpExporter } = await loadTracing()

const closers: (() => void)[] = []
afterEach(() => {
  vi.unstubAllEnvs()
  for (const close of closers.splice(0)) close()
})

/** A collector that responds with the given statuses, one after the other. */
async function startCollector(...statuses: number[]) {
  const requests: { message: IncomingMessage; body: Buffer }[] = []
  const server = createServer(async (message, response) => {
    requests.push({ message, body: await buffer(message) })
    response.writeHead(statuses.shift() ?? 200).end('{}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  closers.push(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

function createSpan(): ReadableSpan {
  const spans: ReadableSpan[] = []
  const exporter = { export: (ended: ReadableSpan[]) => void spans.push(...ended), shutdown: async () => undefined }
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  provider.getTracer('test', '1').startSpan('read').end()
  return spans[0] as ReadableSpan
}

function create(env: Record<string, string>) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(`OTEL_EXPORTER_OTLP_${name}`, value)
  return createOtlpExporter()
}

function send(env: Record<string, string>) {
  const exporter = create(env)
  return new Promise<{ code: ExportResultCode; error?: Error }>((resolve) => exporter.export([createSpan()], resolve))
}

describe('the exporter of spans', () => {
  it('takes the endpoint, headers and compression from the environment', async () => {
    const { url, requests } = await startCollector()
    await send({
      ENDPOINT: url,
      HEADERS: 'authorization=Basic%20eDp5PQ==, x-team=core',
      COMPRESSION: 'gzip',
    })
    const { message, body } = requests[0] ?? expect.fail('no request')
    expect(message.url).toBe('/v1/traces')
    expect(message.headers).toMatchObject({ authorization: 'Basic eDp5PQ==', 'x-team': 'core' })
    expect(JSON.parse(String(gunzipSync(body))).resourceSpans).toHaveLength(1)
  })

  it('sends spans again to a collector that is busy, and not to one that rejects them', async () => {
    const busy = await startCollector(503)
    expect((await send({ ENDPOINT: busy.url })).code).toBe(ExportResultCode.SUCCESS)
    expect(busy.requests).toHaveLength(2)
    const rejecting = await startCollector(400, 400)
    const { code, error } = await send({ ENDPOINT: rejecting.url })
    expect([code, error]).toEqual([ExportResultCode.FAILED, expect.objectContaining({ code: 400 })])
    expect(rejecting.requests).toHaveLength(1)
  })

  it('gives up a collector that accepts a connection and sends nothing, after the timeout', async () => {
    const silent = createServer(() => undefined)
    await once(silent.listen(0, '127.0.0.1'), 'listening')
    closers.push(() => silent.close().closeAllConnections())
    const { port } = silent.address() as AddressInfo
    const { code } = await send({ ENDPOINT: `http://127.0.0.1:${port}`, TIMEOUT: '100' })
    expect(code).toBe(ExportResultCode.FAILED)
  })

  it.each([
    ['TRACES_HEADERS', 'authorization=100%', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS has a % that encodes no character'],
    ['CERTIFICATE', '/nowhere.pem', 'The file of OTEL_EXPORTER_OTLP_CERTIFICATE cannot be read: ENOENT'],
    ['TRACES_CLIENT_KEY', '/nowhere.pem', 'The file of OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY cannot be read'],
  ])('is not created with %s=%s', (name, value, message) => {
    expect(() => create({ [name]: value })).toThrow(message)
  })
})

it('a collector is one that the environment names', () => {
  expect(readConfig({}).hasCollector).toBe(false)
  expect(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }).hasCollector).toBe(true)
})
