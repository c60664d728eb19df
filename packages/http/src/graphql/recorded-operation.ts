import type { RequestState } from '@fusion-gateway/gateway-kit'
import { Held } from '@fusion-gateway/limits'
import { type Metrics, Refusal, type Tracing } from '@fusion-gateway/telemetry'
import { logOutcome, type Outcome } from '../plugins/request-lifecycle.ts'

interface StartedOperation extends Pick<RequestState, 'headers' | 'viewer' | 'log'> {
  /** The id in the log, in traces, and in the events of what it changes. */
  readonly id: string
  /** What its trace calls it. */
  readonly method: string
  readonly traceHeaders: RequestState['headers']
}

/** An operation with the state of a request, although it is none: one of a WebSocket, or of a batch. */
export interface OperationRequest extends RequestState {
  /** Logs, measures and traces the operation. Called once, when it has ended. */
  record(outcome: Omit<Outcome, 'milliseconds'>): void
}

/** Starts an operation: its count of statements, what it holds, its trace, and the clock of its line in the log. */
export function startRecorded(
  { id, method, traceHeaders, ...given }: StartedOperation,
  metrics: Metrics,
  tracing: Tracing | undefined,
): OperationRequest {
  const startedAt = performance.now()
  const trace = tracing?.begin({ method, route: '/graphql', headers: traceHeaders })
  const operation: OperationRequest = {
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
