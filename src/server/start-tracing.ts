import type { Config } from '../config.ts'
import type { Logger } from '../engine/telemetry/logger.ts'
import type { Tracing } from '../engine/telemetry/tracing.ts'
import { exitWhenDone } from './stop.ts'

/** Starts tracing, if a collector is configured. OpenTelemetry is imported only then. */
export async function startTracing({ traces }: Config, log: Logger): Promise<Tracing | undefined> {
  if (traces === undefined) return undefined
  const { createTracing } = await import('../engine/telemetry/tracing.ts')
  return createTracing(traces, log)
}

/** Sends the remaining spans. Attempts to send them that are still under way do not keep the process running. */
export async function stopTracing(tracing: Tracing | undefined): Promise<void> {
  const areSpansSent = (await tracing?.stop()) ?? true
  if (!areSpansSent) exitWhenDone()
}
