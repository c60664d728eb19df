import type { EventLog } from './event-log.ts'

const stallMilliseconds = 30_000

/**
 * Called with how long the log has waited for a transaction, in seconds, and what is known of it; with 0 when it waits
 * no longer.
 */
export type OnStall = (seconds: number, writer?: string) => void

/** Creates the watch over a log that waits for a transaction. */
export function createStallWatch(onStall: OnStall, log: Pick<EventLog, 'describeOldestWriter'>) {
  let since: ReadonlyMap<string, number> = new Map()
  let isReported = false
  return {
    /** Called when the log is read no more. */
    end(): void {
      if (isReported) onStall(0)
    },
    /**
     * @param places how far the log can be read on each server where it waits: a later transaction has begun there, and
     *   it stays there
     */
    async note(places: readonly string[]): Promise<void> {
      const now = performance.now()
      since = new Map(places.map((place) => [place, since.get(place) ?? now]))
      const stalled = now - Math.min(now, ...since.values())
      if (stalled < stallMilliseconds) {
        if (isReported) onStall(0)
        isReported = false
        return
      }
      // The description is read once, the duration is reported each time.
      onStall(stalled / 1_000, isReported ? undefined : await log.describeOldestWriter())
      isReported = true
    },
  }
}
