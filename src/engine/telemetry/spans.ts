import { type Context, type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import { isDriverAdapterError } from '@prisma/driver-adapter-utils'
import type { StatementEnd } from '../db/adapter.ts'

const maxStatementLength = 2_000

/** Starts the span of a statement. Returns what ends it. */
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

/** The type of an error that was thrown. */
export function typeOf(error: unknown): string {
  if (isDriverAdapterError(error)) return error.cause.originalCode ?? error.cause.kind
  return error instanceof Error ? error.name : typeof error
}
