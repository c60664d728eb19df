import {
  type Context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { isDriverAdapterError } from '@prisma/driver-adapter-utils'
import type { StatementObserver } from '../db/adapter.ts'
import type { Logger } from './logger.ts'
import { createOtlpExporter } from './otlp-exporter.ts'
import { packageVersion } from './package-version.ts'
import type { RequestTrace, Tracing, TracingConfig } from './tracing.ts'

const serviceName = 'fusion-gateway'
const maxNameLength = 100
const maxStatementLength = 2_000
const flushMilliseconds = 1_000

/**
 * Creates tracing with OpenTelemetry. It reads the name of the service and its other attributes from the environment, and the
 * exporter reads the collector.
 *
 * Nothing is registered globally: the trace of a request travels with its count of statements.
 */
export function createTracing(config: TracingConfig, log: Logger): Tracing {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': serviceName, 'service.version': packageVersion() }))
    .merge(detectResources({ detectors: [envDetector] }))
  const exporter = logFailures(createOtlpExporter(), log)
  const spanProcessors = [new BatchSpanProcessor({ ...config.batches, exporter })]
  const provider = new TracerProvider({ resource, sampler: createSampler(config), spanProcessors })
  const tracer = provider.getTracer(serviceName)
  const propagator = new W3CTraceContextPropagator()

  return {
    begin({ method, route, headers }) {
      // Not the path and the query, which have ids and variables.
      const attributes = { 'http.request.method': method, 'url.scheme': 'http', ...(route && { 'http.route': route }) }
      const span = tracer.startSpan(
        route === undefined ? method : `${method} ${route}`,
        { kind: SpanKind.SERVER, attributes },
        propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter),
      )
      return span.isRecording() ? traceRequest(tracer, span) : undefined
    },
    async stop() {
      const sent = provider.shutdown().then(
        () => true,
        () => false,
      )
      const { promise: isLate, resolve } = Promise.withResolvers<false>()
      const timer = setTimeout(resolve, flushMilliseconds, false)
      const isSent = await Promise.race([sent, isLate])
      clearTimeout(timer)
      return isSent
    },
  }
}

/** @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#general-sdk-configuration */
function createSampler({ sampler, sampledRatio }: TracingConfig): Sampler {
  const isParentBased = sampler.startsWith('parentbased_')
  const root = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(sampledRatio),
  }[sampler.replace('parentbased_', '') as 'always_on' | 'always_off' | 'traceidratio']()
  return isParentBased ? new ParentBasedSampler({ root }) : root
}

function traceRequest(tracer: Tracer, request: Span): RequestTrace {
  const root = trace.setSpan(ROOT_CONTEXT, request)
  // A request executes one operation at a time: a page of a list, or an event of a subscription.
  let current = root
  return {
    async operation(kind, name, run) {
      const shown = name?.slice(0, maxNameLength)
      const attributes = { 'graphql.operation.type': kind, ...(shown && { 'graphql.operation.name': shown }) }
      const span = tracer.startSpan(shown === undefined ? kind : `${kind} ${shown}`, { attributes }, root)
      current = trace.setSpan(ROOT_CONTEXT, span)
      try {
        const result = await run()
        const [error] = result.errors ?? []
        if (error) fail(span, String(error.extensions['code']))
        return result
      } catch (error) {
        fail(span, typeOf(error))
        throw error
      } finally {
        current = root
        span.end()
      }
    },
    observe: (sql) => observeStatement(tracer, sql, current),
    end({ requestId, status, isCutOff, tenant, key }) {
      request.setAttributes({
        'http.response.status_code': status,
        'http.response.header.x-request-id': [requestId],
        ...(tenant !== undefined && { 'fusion.tenant': tenant }),
        ...(key !== undefined && { 'fusion.key': key }),
        ...(isCutOff && { 'fusion.cut_off': true }),
      })
      if (status >= 500) fail(request, String(status))
      request.end()
    },
  }
}

function observeStatement(tracer: Tracer, sql: string, parent: Context): ReturnType<StatementObserver> {
  const text = withoutLiterals(sql)
  const name = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'SQL'
  const attributes = {
    'db.system.name': 'postgresql',
    'db.operation.name': name,
    'db.query.text': text.slice(0, maxStatementLength),
  }
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent)
  return (error) => {
    if (error !== undefined) fail(span, typeOf(error))
    span.end()
  }
}

/** Values are parameters, but some statements have constants in their text. */
function withoutLiterals(sql: string): string {
  return sql.includes("'") ? sql.replace(/'(?:[^']|'')*'/g, "'?'") : sql
}

/** Records the type of an error. Its message may quote a row. */
function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
}

function typeOf(error: unknown): string {
  if (isDriverAdapterError(error)) return error.cause.originalCode ?? error.cause.kind
  return error instanceof Error ? error.name : typeof error
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
