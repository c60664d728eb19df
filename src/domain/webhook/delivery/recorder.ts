import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../../engine/telemetry/logger.ts'
import type { DeliveryStore, EndedDelivery } from './delivery-store.ts'

const maxBatch = 500
const retryMilliseconds = 500
/** How often a batch is tried. Then its leases end, and the deliveries are made again. */
const maxTries = 20

/**
 * Records the ends of attempts, all that wait with one statement.
 *
 * @param aborted ends the tries
 */
export function createRecorder(deliveries: Pick<DeliveryStore, 'record'>, log: Logger, aborted: AbortSignal) {
  let waiting: EndedDelivery[] = []
  let writing: Promise<void> | undefined

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, maxBatch)
      waiting = waiting.slice(maxBatch)
      await write(batch)
    }
    writing = undefined
  }

  async function write(batch: readonly EndedDelivery[]): Promise<void> {
    for (let tries = 1; tries <= maxTries; tries += 1) {
      try {
        return await deliveries.record(batch)
      } catch (error) {
        log.warn({ err: error, deliveries: batch.length }, 'deliveries could not be recorded; it is tried again')
        await sleep(retryMilliseconds, undefined, { signal: aborted }).catch(() => undefined)
        if (aborted.aborted) return
      }
    }
  }

  return {
    /** Resolves when the end is recorded, or cannot be. */
    async record(ended: EndedDelivery): Promise<void> {
      waiting.push(ended)
      // Those that end in the same turn are one statement.
      writing ??= Promise.resolve().then(writeAll)
      await writing
    },
  }
}
