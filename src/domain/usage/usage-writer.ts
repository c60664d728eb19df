import type { Services } from '../../engine/context.ts'
import { repeat } from '../../engine/repeat.ts'
import type { Logger } from '../../engine/telemetry/logger.ts'
import { writeUsage } from './write-usage.ts'

interface WriterOptions {
  readonly log: Logger
  readonly intervalMilliseconds?: number
}

/**
 * Starts to write the usage that this process counts, every minute. Without the database the counts grow within their
 * bounds, and are written later.
 *
 * @returns stops it, and resolves when the last counts are written
 */
export function startUsageWriter(
  { database, usageCounts }: Pick<Services, 'database' | 'usageCounts'>,
  { log, intervalMilliseconds = 60_000 }: WriterOptions,
): () => Promise<void> {
  const stopping = new AbortController()

  async function write(): Promise<void> {
    for (let counts = usageCounts.take(); counts.length > 0; counts = usageCounts.take()) {
      try {
        await writeUsage(database, counts)
      } catch (error) {
        usageCounts.putBack(counts)
        log.warn({ err: error }, 'usage could not be written; it is tried again')
        return
      }
    }
  }

  const stopped = repeat(() => write().then(() => intervalMilliseconds), {
    signal: stopping.signal,
    onError: () => intervalMilliseconds,
  })
  return async () => {
    stopping.abort()
    await stopped
    await write()
  }
}
