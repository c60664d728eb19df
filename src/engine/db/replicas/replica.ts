import type { SqlDriverAdapter, SqlQuery, SqlResultSet } from '@prisma/driver-adapter-utils'
import { isServerLost } from '../errors.ts'

/** A streaming replica. */
export interface Replica {
  /** Host and port, for the log and the metrics. */
  readonly name: string
  isUsable(): boolean
  /** Sends it a read. Rejects at once when the replica becomes unusable before it answers. */
  read(query: SqlQuery): Promise<SqlResultSet>
  /** Stops using it until it answers and has caught up. */
  exclude(reason: unknown): void
  /** Uses it until a moment of `performance.now()`: after that it may lag too far behind. */
  include(until: number): void
}

/** Called when a replica starts or stops being used, with the reason it stopped. */
export type ReplicaObserver = (name: string, isUsable: boolean, reason?: unknown) => void

/** Creates a replica, unusable at first. */
export function createReplica(name: string, adapter: Promise<SqlDriverAdapter>, observe: ReplicaObserver): Replica {
  let isIncluded = false
  let isReported = false
  let usableUntil = 0
  /** The reads that wait for a result. A server that hangs sends none for a long time. */
  const waiting = new Set<(reason: unknown) => void>()
  observe(name, false)

  return {
    name,
    isUsable: () => isIncluded && performance.now() < usableUntil,

    read: (query) =>
      new Promise((resolve, reject) => {
        waiting.add(reject)
        adapter
          .then((connected) => connected.queryRaw(query))
          .then(resolve, reject)
          .finally(() => waiting.delete(reject))
      }),

    exclude(reason) {
      // A replica that was never usable is reported once, if it cannot be reached. Otherwise it may only not be measured yet.
      if (!isIncluded && (isReported || !isServerLost(reason))) return
      isReported = true
      isIncluded = false
      observe(name, false, reason)
      for (const reject of waiting) reject(reason)
    },

    include(until) {
      usableUntil = until
      if (isIncluded) return
      isIncluded = true
      observe(name, true)
    },
  }
}
