import type { Sql, StatementEnd } from '@fusion-gateway/sql'
import { type Context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { isDriverAdapterError } from '@prisma/driver-adapter-utils'

const maxStatementLength = 2_000

export function traceStatement(tracer: Tracer, sql: string, parent: Context): StatementEnd {
  const text = withoutLiterals(sql)
  const name = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'SQL'
  const attributes = {
    'db.system.name': 'postgresql',
    'db.operation.name': name,
    'db.query.text': text.slice(0, maxStatementLength),
  }
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent)
  return (error) => {
    if (error !== undefined) failSpan(span, typeOf(error))
    span.end()
  }
}

/** Values are parameters, but some statements have constants in their text. */
function withoutLiterals(sql: string): string {
  return sql.includes("'") ? sql.replace(/'(?:[^']|'')*'/g, "'?'") : sql
}

/** Records the type of an error. Its message may quote a row. */
export function failSpan(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
}

export function typeOf(error: unknown): string {
  if (isDriverAdapterError(error)) return error.cause.originalCode ?? error.cause.kind
  return error instanceof Error ? error.name : typeof error
}

export interface QueuedWork {
  /** Whether the process does the work itself, or sends it to another server. */
  readonly operation: 'process' | 'send'
  readonly queue: string
  readonly id: string
  readonly tenant: string
  /** The number of the attempt, from 1. */
  readonly attempt: number
}

/**
 * Does work in a trace of its own, with the statements that it sends.
 *
 * @param run receives what sends its statements
 * @param errorOf the type of the error, if the result of the work is a failure
 */
export type TraceWork = <Result>(
  work: QueuedWork,
  run: (sql: Sql) => Promise<Result>,
  errorOf: (result: Result) => string | undefined,
) => Promise<Result>

/**
 * Returns the tracing of work, by OpenTelemetry's conventions for messages. A queue stores no trace of the request that
 * filled it, so each trace begins here.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
 */
export function createTraceWork(tracer: Tracer, sql: Sql): TraceWork {
  return async ({ operation, queue, id, tenant, attempt }, run, errorOf) => {
    const attributes = {
      'messaging.system': 'fusion-gateway',
      'messaging.operation.type': operation,
      'messaging.operation.name': operation,
      'messaging.destination.name': queue,
      'messaging.message.id': id,
      'fusion.tenant': tenant,
      'fusion.attempt': attempt,
    }
    const kind = operation === 'process' ? SpanKind.CONSUMER : SpanKind.PRODUCER
    const span = tracer.startSpan(`${operation} ${queue}`, { kind, attributes }, ROOT_CONTEXT)
    if (!span.isRecording()) return run(sql)
    const context = trace.setSpan(ROOT_CONTEXT, span)
    const observe = (text: string) => traceStatement(tracer, text, context)
    try {
      const result = await run(sql.for({ statements: 0, observe }))
      const error = errorOf(result)
      if (error !== undefined) failSpan(span, error)
      return result
    } catch (error) {
      failSpan(span, typeOf(error))
      throw error
    } finally {
      span.end()
    }
  }
}
