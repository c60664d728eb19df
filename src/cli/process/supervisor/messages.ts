// What the supervisor and its children send each other, as JSON. After a rolling restart the children can be of a newer version
// than their supervisor, so a change of these messages must let both understand each other.
import type { SharedCounts } from '../../../engine/limits/shared-counts.ts'
import type { MetricsReport } from './sum-metrics.ts'

/** What a child can call in its supervisor. */
export interface SupervisorMethods extends SharedCounts {
  /** Returns the metrics of all processes, as text. */
  readMetrics(): Promise<string>
  /** Stores the metrics of the child. */
  reportMetrics(metrics: MetricsReport): Promise<void>
}

export interface Call {
  readonly id: number
  readonly name: keyof SupervisorMethods
  readonly args: readonly unknown[]
}

export interface Reply {
  readonly id: number
  readonly value?: unknown
  /** The message of the error, if the call failed. */
  readonly error?: string
}

export type MessageOfChild =
  | { readonly type: 'ready'; readonly address: string }
  | { readonly type: 'calls'; readonly calls: readonly Call[] }

export type MessageOfSupervisor =
  | { readonly type: 'stop' | 'stopAtOnce' | 'reportMetrics' }
  | { readonly type: 'replies'; readonly replies: readonly Reply[] }
