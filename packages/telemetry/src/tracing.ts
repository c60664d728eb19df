import { accessSync, constants } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { buildVersion, OperatorError, ownValue } from '@fusion-gateway/base'
import type { Sql } from '@fusion-gateway/sql'
import { defaultTextMapGetter, ROOT_CONTEXT, type Span, SpanKind, type Tracer, trace } from '@opentelemetry/api'
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import type { ExecutionResult } from 'graphql'
import type { Logger } from './logger.ts'
import { createTraceWork, failSpan, traceStatement, typeOf } from './work-trace.ts'

const serviceName = 'fusion-gateway'
const maxNameLength = 100
const flushMilliseconds = 1_000

export type Tracing = ReturnType<typeof createTracing>

/** The trace of one request. It has names, and never a key, a document or a value. */
export type RequestTrace = ReturnType<typeof traceRequest>

/**
 * Creates tracing with OpenTelemetry. It reads the name of the service and its other attributes from the environment,
 * and the exporter reads the collector.
 *
 * Nothing is registered globally: the trace of a request travels with its count of statements.
 */
export function createTracing(log: Logger) {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': serviceName, 'service.version': buildVersion() }))
    .merge(detectResources({ detectors: [envDetector] }))
  const exporter = logFailures(createOtlpExporter(), log)
  const provider = new TracerProvider({ resource, spanProcessors: [new BatchSpanProcessor({ exporter })] })
  const tracer = provider.getTracer(serviceName)
  const propagator = new W3CTraceContextPropagator()

  return {
    /**
     * Starts the trace of a request, or continues the client's.
     *
     * @returns undefined if the request is not sampled
     */
    begin({ method, route, headers }: TracedRequest) {
      // Not the path and the query, which have ids and variables.
      const attributes = { 'http.request.method': method, 'url.scheme': 'http', ...(route && { 'http.route': route }) }
      const span = tracer.startSpan(
        route === undefined ? method : `${method} ${route}`,
        { kind: SpanKind.SERVER, attributes },
        propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter),
      )
      return span.isRecording() ? traceRequest(tracer, span) : undefined
    },
    workTraces: (sql: Sql) => createTraceWork(tracer, sql),
    /**
     * Sends the remaining spans, for a second at most.
     *
     * @returns whether the collector received them. If not, attempts that are under way can keep the process running
     */
    async stop(): Promise<boolean> {
      const timer = new AbortController()
      const sent = provider.shutdown().then(() => true)
      const isSent = await Promise.race([sent, setTimeout(flushMilliseconds, false, timer)]).catch(() => false)
      timer.abort()
      return isSent
    },
  }
}

interface TracedRequest {
  readonly method: string
  readonly route: string | undefined
  readonly headers: IncomingHttpHeaders
}

interface RespondedRequest {
  readonly requestId: string
  readonly status: number
  /** Whether the client went away before it received the whole response. */
  readonly isCutOff: boolean
  readonly tenant: string | undefined
  readonly key: string | undefined
}

function traceRequest(tracer: Tracer, request: Span) {
  const root = trace.setSpan(ROOT_CONTEXT, request)
  // A request executes one operation at a time: a page of a list, or an event of a subscription.
  let current = root
  return {
    /**
     * Traces an operation and the statements that it sends. Clients choose the names of operations, so the name is an
     * attribute and not part of the span's name, by which collectors group.
     *
     * @see https://opentelemetry.io/docs/specs/semconv/graphql/graphql-spans/
     */
    async operation(
      kind: string,
      name: string | undefined,
      run: () => Promise<ExecutionResult>,
    ): Promise<ExecutionResult> {
      const operationName = name?.slice(0, maxNameLength)
      const attributes = {
        'graphql.operation.type': kind,
        ...(operationName && { 'graphql.operation.name': operationName }),
      }
      const span = tracer.startSpan(kind, { attributes }, root)
      current = trace.setSpan(ROOT_CONTEXT, span)
      try {
        const result = await run()
        const [error] = result.errors ?? []
        if (error) failSpan(span, String(error.extensions['code']))
        return result
      } catch (error) {
        failSpan(span, typeOf(error))
        throw error
      } finally {
        current = root
        span.end()
      }
    },
    observe: (sql: string) => traceStatement(tracer, sql, current),
    /** Ends the trace when the request is answered or its client has gone. */
    end({ requestId, status, isCutOff, tenant, key }: RespondedRequest): void {
      request.setAttributes({
        'http.response.status_code': status,
        'http.response.header.x-request-id': [requestId],
        ...(tenant !== undefined && { 'fusion.tenant': tenant }),
        ...(key !== undefined && { 'fusion.key': key }),
        ...(isCutOff && { 'fusion.cut_off': true }),
      })
      if (status >= 500) failSpan(request, String(status))
      request.end()
    },
  }
}

/**
 * Creates the exporter of spans: OpenTelemetry's own, for OTLP over HTTP, as JSON.
 *
 * The environment configures it: `OTEL_EXPORTER_OTLP_ENDPOINT`, and `OTEL_EXPORTER_OTLP_` or
 * `OTEL_EXPORTER_OTLP_TRACES_` with `HEADERS`, `TIMEOUT`, `COMPRESSION`, `CERTIFICATE`, `CLIENT_KEY` and
 * `CLIENT_CERTIFICATE`.
 *
 * @throws OperatorError for headers and certificates that the exporter would leave out without a word
 * @see https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 */
export function createOtlpExporter(): SpanExporter {
  for (const prefix of ['OTEL_EXPORTER_OTLP', 'OTEL_EXPORTER_OTLP_TRACES']) {
    checkHeaders(`${prefix}_HEADERS`)
    for (const name of ['CERTIFICATE', 'CLIENT_KEY', 'CLIENT_CERTIFICATE']) checkFile(`${prefix}_${name}`)
  }
  return new OTLPTraceExporter()
}

/** Logs when the collector stops and starts accepting spans: one line each, not one per batch. */
function logFailures(exporter: SpanExporter, log: Logger): SpanExporter {
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

function checkHeaders(name: string): void {
  try {
    decodeURIComponent(ownValue(process.env, name) ?? '')
  } catch {
    throw new OperatorError(`${name} has a % that encodes no character of UTF-8. Write the character % as %25`)
  }
}

function checkFile(name: string): void {
  const file = ownValue(process.env, name)
  if (!file) return
  try {
    accessSync(file, constants.R_OK)
  } catch (error) {
    throw new OperatorError(`The file of ${name} cannot be read: ${(error as Error).message}`)
  }
}
