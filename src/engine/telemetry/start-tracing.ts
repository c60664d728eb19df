import type { Logger } from './logger.ts'
import type { Tracing, TracingConfig } from './tracing.ts'

/** Starts tracing if it is configured. Only then is OpenTelemetry loaded. */
export async function startTracing(config: TracingConfig | undefined, log: Logger): Promise<Tracing | undefined> {
  if (config === undefined) return undefined
  const { createTracing } = await import('./open-telemetry.ts')
  return createTracing(config, log)
}
