import type { SqlDriverAdapter, SqlQuery, SqlResultSet } from '@prisma/driver-adapter-utils'

/** A server that follows the primary, as long as it does. */
export interface Replica {
  /** What it is called in the log and in the metrics: host and port. */
  readonly name: string
  isUsable(): boolean
  /** Reads from it. Rejects at once when it is left out meanwhile. */
  read(query: SqlQuery): Promise<SqlResultSet>
  /** Uses it no more until it has shown that it is there, and has caught up. */
  leaveOut(reason: unknown): void
  /** Uses it, until a moment of `performance.now()` at the latest: from then on it may be behind too far. */
  takeIn(until: number): void
}

/** Told that a replica is used from now on, or no longer, and why. */
export type ReplicaObserver = (name: string, isUsable: boolean, reason?: unknown) => void

/** A replica that is not used yet. */
export function createReplica(name: string, adapter: Promise<SqlDriverAdapter>, observe: ReplicaObserver): Replica {
  let isUsable = false
  let usableUntil = 0
  /** Those who wait for an answer: one that is frozen gives none for long. */
  const waiting = new Set<(reason: unknown) => void>()
  observe(name, false)

  return {
    name,
    isUsable: () => isUsable && performance.now() < usableUntil,

    read: (query) =>
      new Promise((resolve, reject) => {
        waiting.add(reject)
        adapter
          .then((connected) => connected.queryRaw(query))
          .then(resolve, reject)
          .finally(() => waiting.delete(reject))
      }),

    leaveOut(reason) {
      if (!isUsable) return
      isUsable = false
      observe(name, false, reason)
      for (const giveUp of waiting) giveUp(reason)
    },

    takeIn(until) {
      usableUntil = until
      if (isUsable) return
      isUsable = true
      observe(name, true)
    },
  }
}
