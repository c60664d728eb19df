export { toGatewayError } from './gateway-error.ts'
export { createLogBuffer } from './log-buffer.ts'
export { createLogger, createReadableLog, type Logger } from './logger.ts'
export { measureMissing, measureNodes, measureProcess, measureReadiness, readBehind } from './measure.ts'
export { countPointsByKey, createMetrics, type Metrics, metricsIn, Refusal } from './metrics.ts'
export type { RequestTrace, Tracing } from './tracing.ts'

/** What sends traces is loaded only where they are sent. */
export const loadTracing = () => import('./tracing.ts')
export {
  type Caller,
  type Client,
  clientHeaders,
  clientOf,
  invalidOperation,
  maxNameLength,
  type OperationSummary,
  type UsageCounter,
} from './usage.ts'
export type { QueuedWork, TraceWork } from './work-trace.ts'
