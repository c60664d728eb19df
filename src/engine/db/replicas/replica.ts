import type { SqlDriverAdapter, SqlQuery, SqlResultSet } from '@prisma/driver-adapter-utils'
import type { Connector } from '../adapter.ts'
import { isServerLost, isStatementTimeout } from '../errors.ts'

/** A streaming replica. */
export type Replica = ReturnType<typeof createReplica>

/** Called when a replica starts or stops being used, with the reason it stopped. */
export type ReplicaObserver = (name: string, isUsable: boolean, reason?: unknown) => void

/**
 * Creates a replica, unusable at first.
 *
 * @param name its host and port, for the log and the metrics
 */
export function createReplica(name: string, adapter: Promise<SqlDriverAdapter>, observe: ReplicaObserver) {
  let isIncluded = false
  let isReported = false
  let usableUntil = 0
  /** The reads that wait for a result. A server that hangs sends none for a long time. */
  const waiting = new Set<(reason: unknown) => void>()
  observe(name, false)

  return {
    isUsable: () => isIncluded && performance.now() < usableUntil,

    /** Sends it a read. Rejects at once when the replica becomes unusable before it answers. */
    read: (query: SqlQuery) =>
      new Promise<SqlResultSet>((resolve, reject) => {
        waiting.add(reject)
        adapter
          .then((connected) => connected.queryRaw(query))
          .then(resolve, reject)
          .finally(() => waiting.delete(reject))
      }),

    /** Stops using it until it answers and has caught up. */
    exclude(reason: unknown): void {
      // One that was never usable is reported once, if it cannot be reached: at first it only has to be measured.
      if (!isIncluded && (isReported || !isServerLost(reason))) return
      isReported = true
      isIncluded = false
      observe(name, false, reason)
      for (const reject of waiting) reject(reason)
    },

    /** Uses it until a moment of `performance.now()`: after that it may lag too far behind. */
    include(until: number): void {
      usableUntil = until
      if (isIncluded) return
      isIncluded = true
      observe(name, true)
    },
  }
}

/**
 * Returns an object that identifies the request that reads now, if it only reads and may read rows that are slightly
 * out of date. All reads of one request go to one server, so that they are consistent with each other.
 */
export type LaggingReader = () => object | undefined

/**
 * Creates the routing of reads. Requests that may lag use the replicas in turn; everything else uses the primary. A
 * read that fails on a replica is sent to the primary. The replica is excluded only if the server is lost.
 */
export function createReadRouter(
  replicas: readonly Replica[],
  laggingReader: LaggingReader,
): NonNullable<Connector['routeRead']> {
  const chosen = new WeakMap<object, Replica>()
  let turn = 0

  function choose(): Replica | undefined {
    const reader = laggingReader()
    if (!reader) return undefined
    const before = chosen.get(reader)
    if (before) return before.isUsable() ? before : undefined
    const usable = replicas.filter((replica) => replica.isUsable())
    turn += 1
    const replica = usable[turn % usable.length]
    if (replica) chosen.set(reader, replica)
    return replica
  }

  return (query, sendToPrimary) => {
    const replica = choose()
    if (!replica) return sendToPrimary()
    return replica.read(query).catch((error: unknown) => {
      // It would take as long on the primary.
      if (isStatementTimeout(error)) throw error
      if (isServerLost(error)) replica.exclude(error)
      return sendToPrimary()
    })
  }
}
