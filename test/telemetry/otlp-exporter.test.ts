import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { ExportResultCode } from '@opentelemetry/core'
import { type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, describe, expect, it } from 'vitest'
import { createOtlpExporter } from '../../src/engine/telemetry/otlp-exporter.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A collector that answers with the given statuses, one after the other. */
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
  const attributes = { text: 'a', whole: 1, part: 0.5, flag: true, list: ['x', 'y'] }
  provider.getTracer('test', '1').startSpan('read', { attributes }).end()
  return spans[0] as ReadableSpan
}

function send(env: Record<string, string>) {
  const exporter = createOtlpExporter(env)
  return new Promise<{ code: ExportResultCode; error?: Error }>((resolve) => exporter.export([createSpan()], resolve))
}

describe('the exporter of spans', () => {
  it('encodes a span as OTLP/JSON', async () => {
    const { url, requests } = await startCollector()
    expect((await send({ OTEL_EXPORTER_OTLP_ENDPOINT: url })).code).toBe(ExportResultCode.SUCCESS)
    expect(requests[0]?.message.url).toBe('/v1/traces')
    const [resource] = JSON.parse(String(requests[0]?.body)).resourceSpans
    expect(resource.scopeSpans[0].scope).toEqual({ name: 'test', version: '1' })
    expect(resource.scopeSpans[0].spans[0]).toMatchObject({
      name: 'read',
      kind: 1,
      traceId: expect.stringMatching(/^[\da-f]{32}$/),
      spanId: expect.stringMatching(/^[\da-f]{16}$/),
      startTimeUnixNano: expect.stringMatching(/^\d{19}$/),
      endTimeUnixNano: expect.stringMatching(/^\d{19}$/),
      status: { code: 0 },
      attributes: [
        { key: 'text', value: { stringValue: 'a' } },
        { key: 'whole', value: { intValue: 1 } },
        { key: 'part', value: { doubleValue: 0.5 } },
        { key: 'flag', value: { boolValue: true } },
        { key: 'list', value: { arrayValue: { values: [{ stringValue: 'x' }, { stringValue: 'y' }] } } },
      ],
    })
  })

  it('takes the endpoint, headers and compression from the environment, those for traces first', async () => {
    const { url, requests } = await startCollector()
    await send({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/spans`,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20eDp5PQ==, x-team=core',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    })
    const { message, body } = requests[0] ?? expect.fail('no request')
    expect(message.url).toBe('/spans')
    expect(message.headers).toMatchObject({ authorization: 'Basic eDp5PQ==', 'x-team': 'core' })
    expect(JSON.parse(String(gunzipSync(body))).resourceSpans).toHaveLength(1)
  })

  it('sends spans again to a collector that is busy, and not to one that rejects them', async () => {
    const busy = await startCollector(503)
    expect((await send({ OTEL_EXPORTER_OTLP_ENDPOINT: busy.url })).code).toBe(ExportResultCode.SUCCESS)
    expect(busy.requests).toHaveLength(2)
    const rejecting = await startCollector(400, 400)
    const { code, error } = await send({ OTEL_EXPORTER_OTLP_ENDPOINT: rejecting.url })
    expect([code, error?.message]).toEqual([ExportResultCode.FAILED, 'The collector answered with the status 400'])
    expect(rejecting.requests).toHaveLength(1)
  })
})
