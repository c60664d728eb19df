import { logOutcome, type Outcome } from '../../http/plugins/request-log.ts'
import type { RequestState } from '../../http/request.ts'
import { Held } from '../../limits/held.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { Refusal } from '../../telemetry/refusal.ts'
import type { Tracing } from '../../telemetry/tracing.ts'

interface StartedOperation extends Pick<RequestState, 'headers' | 'viewer' | 'log'> {
  /** The id in the log, in traces, and in the events of what it changes. */
  readonly id: string
  /** What its trace calls it. */
  readonly method: string
  /** The headers with the trace that it continues. */
  readonly traceHeaders: RequestState['headers']
}

/** An operation with the state of a request, although it is none: one of a WebSocket, or of a batch. */
export interface RecordedOperation extends RequestState {
  /** Logs, measures and traces the operation. Called once, when it has ended. */
  record(outcome: Omit<Outcome, 'milliseconds'>): void
}

/** Starts an operation: its count of statements, what it holds, its trace, and the clock of its line in the log. */
export function startRecorded(
  { id, method, traceHeaders, ...given }: StartedOperation,
  metrics: Metrics,
  tracing: Tracing | undefined,
): RecordedOperation {
  const startedAt = performance.now()
  const trace = tracing?.begin({ method, route: '/graphql', headers: traceHeaders })
  const operation: RecordedOperation = {
    ...given,
    statements: { statements: 0, requestId: id, observe: trace?.observe },
    refusal: new Refusal(metrics),
    held: new Held(),
    trace,
    operationName: undefined,
    record(outcome) {
      logOutcome(operation, { ...outcome, milliseconds: performance.now() - startedAt }, metrics)
      const { status, isCutOff } = outcome
      const { tenantAppId: tenant, keyName: key } = operation.viewer ?? {}
      trace?.end({ requestId: id, status, isCutOff, tenant, key })
    },
  }
  return operation
}
