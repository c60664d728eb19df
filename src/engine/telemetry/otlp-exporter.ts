import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { HrTime } from '@opentelemetry/api'
import { ExportResultCode } from '@opentelemetry/core'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import { Agent, fetch } from 'undici'
import { OperatorError } from '../errors.ts'
import { own } from '../own.ts'
import type { Logger } from './logger.ts'

const defaultTimeoutMilliseconds = 10_000
const maxAttempts = 5
const firstPauseMilliseconds = 1_000

/**
 * The statuses of a collector that accepts the spans later.
 * https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes
 */
const isRetryable = (status: number) => [429, 502, 503, 504].includes(status)

/**
 * Creates the exporter of spans: OTLP over HTTP, as JSON. OpenTelemetry's own brings six packages, for logs and metrics
 * too.
 *
 * The environment configures it: `OTEL_EXPORTER_OTLP_` or `OTEL_EXPORTER_OTLP_TRACES_`, with `ENDPOINT`, `HEADERS`,
 * `TIMEOUT`, `COMPRESSION`, `CERTIFICATE`, `CLIENT_KEY` and `CLIENT_CERTIFICATE`.
 *
 * @see https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 */
export function createOtlpExporter(env = process.env): SpanExporter {
  const read = (name: string) => own(env, `OTEL_EXPORTER_OTLP_TRACES_${name}`) || own(env, `OTEL_EXPORTER_OTLP_${name}`)
  const base = env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? 'http://localhost:4318'
  const url = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || `${base.replace(/\/$/, '')}/v1/traces`
  const timeout = Number(read('TIMEOUT')) || defaultTimeoutMilliseconds
  const isCompressed = read('COMPRESSION') === 'gzip'
  const headers = {
    ...readHeaders(read('HEADERS') ?? ''),
    'content-type': 'application/json',
    ...(isCompressed && { 'content-encoding': 'gzip' }),
  }
  const dispatcher = new Agent({ connect: readCertificates(read) })
  const stopped = new AbortController()

  async function post(spans: readonly ReadableSpan[]): Promise<void> {
    const text = JSON.stringify(encodeSpans(spans))
    const body = isCompressed ? await promisify(gzip)(text) : text
    const signal = AbortSignal.any([AbortSignal.timeout(timeout), stopped.signal])
    for (let attempt = 1; ; attempt += 1) {
      const failure = await fetch(url, { method: 'POST', headers, body, dispatcher, signal }).then(
        async (response) => {
          await response.body?.cancel()
          if (response.ok) return undefined
          const error = new Error(`The collector answered with the status ${response.status}`)
          if (!isRetryable(response.status)) throw error
          return error
        },
        (error: Error) => error,
      )
      if (failure === undefined) return
      if (attempt === maxAttempts || signal.aborted) throw failure
      // No attempt follows if the timeout ends the pause.
      await setTimeout(firstPauseMilliseconds * 1.5 ** (attempt - 1), undefined, { signal }).catch(() => {
        throw failure
      })
    }
  }

  return {
    export(spans, done) {
      post(spans).then(
        () => done({ code: ExportResultCode.SUCCESS }),
        (error: Error) => done({ code: ExportResultCode.FAILED, error }),
      )
    },
    async shutdown() {
      stopped.abort()
      await dispatcher.close()
    },
  }
}

/** Logs when the collector stops and starts accepting spans: one line each, not one per batch. */
export function logFailures(exporter: SpanExporter, log: Logger): SpanExporter {
  let isFailing = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const hasFailed = result.code === ExportResultCode.FAILED
        if (hasFailed && !isFailing) log.warn({ err: result.error }, 'the trace collector accepts no spans')
        if (!hasFailed && isFailing) log.warn({}, 'the trace collector accepts spans again')
        isFailing = hasFailed
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

/** `key=value,other=value`, with percent-encoded values, as in the header `baggage`. */
function readHeaders(text: string): Record<string, string> {
  try {
    decodeURIComponent(text)
  } catch {
    throw new OperatorError(
      'OTEL_EXPORTER_OTLP_HEADERS has a % that encodes no character of UTF-8. Write the character % as %25',
    )
  }
  const pairs = text.split(',').map((pair) => pair.split(/=(.*)/s).map((part) => part.trim()))
  return Object.fromEntries(
    pairs.filter(([name, value]) => name && value).map(([name, value]) => [name, decodeURIComponent(value as string)]),
  )
}

function readCertificates(read: (name: string) => string | undefined): NonNullable<Agent.Options['connect']> {
  const files = { ca: read('CERTIFICATE'), key: read('CLIENT_KEY'), cert: read('CLIENT_CERTIFICATE') }
  const given = Object.entries(files).filter((entry): entry is [string, string] => Boolean(entry[1]))
  try {
    return Object.fromEntries(given.map(([name, file]) => [name, readFileSync(file)]))
  } catch (error) {
    throw new OperatorError(`The certificate of OTEL_EXPORTER_OTLP cannot be read: ${(error as Error).message}`)
  }
}

/**
 * Encodes spans of one tracer as the body of an OTLP request. The gateway's spans have neither events nor links.
 *
 * @see https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto
 */
function encodeSpans(spans: readonly ReadableSpan[]) {
  const [first] = spans
  if (!first) return { resourceSpans: [] }
  const resource = { attributes: encodeAttributes(first.resource.attributes) }
  const { name, version } = first.instrumentationScope
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name, version }, spans: spans.map(encodeSpan) }] }] }
}

/** The bits of `flags`: whether the span knows that its parent is remote, and whether it is. */
const knowsRemote = 0x1_00
const isRemote = 0x2_00

function encodeSpan(span: ReadableSpan) {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  const parent = span.parentSpanContext
  return {
    traceId,
    spanId,
    parentSpanId: parent?.spanId,
    traceState: traceState?.serialize(),
    name: span.name,
    flags: traceFlags | knowsRemote | (parent?.isRemote ? isRemote : 0),
    // OTLP counts from 1, because 0 is unspecified.
    kind: span.kind + 1,
    startTimeUnixNano: encodeTime(span.startTime),
    endTimeUnixNano: encodeTime(span.endTime),
    attributes: encodeAttributes(span.attributes),
    droppedAttributesCount: span.droppedAttributesCount,
    status: { code: span.status.code, message: span.status.message },
  }
}

/** Nanoseconds are a string in JSON: a number would lose the last digits. */
function encodeTime([seconds, nanoseconds]: HrTime): string {
  return String(BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds))
}

function encodeAttributes(attributes: Readonly<Record<string, unknown>>) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: encodeValue(value) }))
}

function encodeValue(value: unknown): object {
  if (typeof value === 'boolean') return { boolValue: value }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(encodeValue) } }
  if (typeof value !== 'number') return { stringValue: String(value) }
  return Number.isInteger(value) ? { intValue: value } : { doubleValue: value }
}
