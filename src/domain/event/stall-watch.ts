import type { EventLog } from './event-log.ts'

const stallMilliseconds = 30_000

/**
 * Called with how long the log has waited for a transaction, in seconds, and what is known of it; with 0 when it waits
 * no longer.
 */
export type OnStall = (seconds: number, writer?: string) => void

/** Creates the watch over a log that waits for a transaction. */
export function createStallWatch(onStall: OnStall, log: Pick<EventLog, 'describeOldestWriter'>) {
  let since = performance.now()
  let place = ''
  let isReported = false
  return {
    /** Called when the log is read no more. */
    end(): void {
      if (isReported) onStall(0)
    },
    /** @param complete how far the log can be read; it waits if a later transaction has ended and it stays there */
    async note(complete: string, isWaiting: boolean): Promise<void> {
      if (!isWaiting || complete !== place) {
        if (isReported) onStall(0)
        ;[since, place, isReported] = [performance.now(), complete, false]
        return
      }
      const stalled = performance.now() - since
      if (stalled < stallMilliseconds) return
      // The description is read once, the duration is reported each time.
      onStall(stalled / 1_000, isReported ? undefined : await log.describeOldestWriter())
      isReported = true
    },
  }
}
