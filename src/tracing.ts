import type { IncomingHttpHeaders } from 'node:http'
import type { ExecutionResult } from 'graphql'
import type { Logger } from './context.ts'
import type { StatementObserver } from './db/observed-adapter.ts'

/** Makes a trace of each request and sends it to a collector. Where there is none, nothing is traced. */
export interface Tracing {
  /**
   * Begins the trace of a request, or continues its caller's.
   *
   * @returns undefined when this request is not among those that are sampled
   */
  begin(request: {
    readonly method: string
    readonly route: string | undefined
    readonly headers: IncomingHttpHeaders
  }): RequestTrace | undefined
  /**
   * Sends what is left, for a second at most.
   *
   * @returns whether all of it was taken; if not, what still tries may keep the process from ending
   */
  stop(): Promise<boolean>
}

/** The trace of one request. It is told names, never a key, a document or a value. */
export interface RequestTrace {
  /** Shows an operation, and beneath it the statements that are sent until it has run. */
  operation(kind: string, name: string | undefined, run: () => Promise<ExecutionResult>): Promise<ExecutionResult>
  /** Shows a statement. */
  readonly observe: StatementObserver
  /** To be called when the request is answered, or its client has gone. */
  end(answer: AnsweredRequest): void
}

export interface AnsweredRequest {
  readonly requestId: string
  readonly status: number
  /** Whether the client went away before it had all of the answer. */
  readonly isCutOff: boolean
  readonly tenant: string | undefined
  /** The name of the key. */
  readonly key: string | undefined
}

/**
 * Starts tracing, if there is a collector to send to. OpenTelemetry is loaded only then; it reads `OTEL_*` by itself.
 *
 * @param collector `OTEL_EXPORTER_OTLP_ENDPOINT`
 */
export async function startTracing(collector: string | undefined, log: Logger): Promise<Tracing | undefined> {
  if (collector === undefined) return undefined
  const { createTracing } = await import('./open-telemetry.ts')
  return createTracing(log)
}
