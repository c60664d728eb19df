import type { IncomingHttpHeaders } from 'node:http'
import type { ExecutionResult } from 'graphql'
import type { StatementObserver } from '../db/adapter.ts'

/** Which traces are sampled: the values of `OTEL_TRACES_SAMPLER`. */
export const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export interface TracingConfig {
  readonly sampler: (typeof samplers)[number]
  /** The part of the traces that a sampler with a ratio takes. */
  readonly sampledRatio: number
  /** The options of the processor that sends spans in batches. */
  readonly batches: {
    readonly scheduledDelayMillis: number
    readonly exportTimeoutMillis: number
    readonly maxQueueSize: number
    readonly maxExportBatchSize: number
  }
}

/** Traces requests and sends the traces to a collector. */
export interface Tracing {
  /**
   * Starts the trace of a request, or continues the client's.
   *
   * @returns undefined if the request is not sampled
   */
  begin(request: {
    readonly method: string
    readonly route: string | undefined
    readonly headers: IncomingHttpHeaders
  }): RequestTrace | undefined
  /**
   * Sends the remaining spans, for a second at most.
   *
   * @returns whether the collector received them. If not, attempts that are under way can keep the process running
   */
  stop(): Promise<boolean>
}

/** The trace of one request. It contains names, but no keys, documents or values. */
export interface RequestTrace {
  /** Traces an operation and the statements that it sends. */
  operation(kind: string, name: string | undefined, run: () => Promise<ExecutionResult>): Promise<ExecutionResult>
  /** Traces a statement. */
  readonly observe: StatementObserver
  /** Ends the trace when the response is sent or the client has gone. */
  end(response: RespondedRequest): void
}

export interface RespondedRequest {
  readonly requestId: string
  readonly status: number
  /** Whether the client went away before it received the whole response. */
  readonly isCutOff: boolean
  readonly tenant: string | undefined
  /** The name of the key. */
  readonly key: string | undefined
}
