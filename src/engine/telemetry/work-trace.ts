import { ROOT_CONTEXT, SpanKind, type Tracer, trace } from '@opentelemetry/api'
import type { StatementMeter } from '../db/statement-meter.ts'
import { failSpan, traceStatement, typeOf } from './spans.ts'

/** Work that a process takes from a queue. */
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
 * @param errorOf the type of the error, if the result of the work is a failure
 */
export type TraceWork = <Result>(
  work: QueuedWork,
  run: () => Promise<Result>,
  errorOf: (result: Result) => string | undefined,
) => Promise<Result>

/**
 * Returns the tracing of work, by OpenTelemetry's conventions for messages. A queue stores no trace of the request that
 * filled it, so each trace begins here.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
 */
export function createTraceWork(tracer: Tracer, meter: StatementMeter): TraceWork {
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
    if (!span.isRecording()) return run()
    const context = trace.setSpan(ROOT_CONTEXT, span)
    const observe = (sql: string) => traceStatement(tracer, sql, context)
    try {
      const result = await meter.run({ statements: 0, observe }, run)
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
