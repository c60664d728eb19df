import type { Logger } from './logger.ts'
import type { Tracing } from './tracing.ts'

/**
 * Starts tracing if there is a collector. Only then is OpenTelemetry loaded. It reads the variables `OTEL_*` itself.
 *
 * @param collector `OTEL_EXPORTER_OTLP_ENDPOINT`
 */
export async function startTracing(collector: string | undefined, log: Logger): Promise<Tracing | undefined> {
  if (collector === undefined) return undefined
  const { createTracing } = await import('./open-telemetry.ts')
  return createTracing(log)
}
