import pg from 'pg'
import type { Connector, Send, StatementResult } from '../driver.ts'
import { isServerLost, isStatementTimeout } from '../errors.ts'
import { Client } from '../postgres/client.ts'

/** A streaming replica. */
export type Replica = ReturnType<typeof createReplica>

/** Called when a replica starts or stops being used, with the reason it stopped. */
export type ReplicaObserver = (name: string, isUsable: boolean, reason?: unknown) => void

/**
 * Creates a replica, unusable at first.
 *
 * @param name its host and port, for the log and the metrics
 */
export function createReplica(name: string, send: Send, observe: ReplicaObserver) {
  let isIncluded = false
  let isReported = false
  let usableUntil = 0
  /** The reads that wait for a result. A server that hangs sends none for a long time. */
  const waiting = new Set<(reason: unknown) => void>()
  observe(name, false)

  return {
    isUsable: () => isIncluded && performance.now() < usableUntil,

    /** Sends it a read. Rejects at once when the replica becomes unusable before it answers. */
    read: (...sent: Parameters<Send>) =>
      new Promise<StatementResult>((resolve, reject) => {
        waiting.add(reject)
        send(...sent)
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
 * Creates the routing of the reads of requests that may lag, to the replicas in turn. All reads of one request go to
 * one server, so that they are consistent with each other. A read that fails on a replica is sent to the primary. The
 * replica is excluded only if the server is lost.
 */
export function createReadRouter(replicas: readonly Replica[]): NonNullable<Connector['routeRead']> {
  const chosen = new WeakMap<object, Replica>()
  let turn = 0

  function choose(reader: object): Replica | undefined {
    const before = chosen.get(reader)
    if (before) return before.isUsable() ? before : undefined
    const usable = replicas.filter((replica) => replica.isUsable())
    turn += 1
    const replica = usable[turn % usable.length]
    if (replica) chosen.set(reader, replica)
    return replica
  }

  return (request, statement, parameters, sendToPrimary) => {
    const replica = choose(request)
    if (!replica) return sendToPrimary()
    return replica.read(statement, parameters).catch((error: unknown) => {
      // It would take as long on the primary.
      if (isStatementTimeout(error)) throw error
      if (isServerLost(error)) replica.exclude(error)
      return sendToPrimary()
    })
  }
}

/** A position in the primary's write-ahead log, and when the primary had reached it. */
interface Sample {
  readonly at: number
  readonly position: bigint
}

const minIntervalMilliseconds = 50
const maxIntervalMilliseconds = 1_000

/**
 * Compares the positions of the primary and its replicas at regular intervals. A replica that has replayed a position
 * may be used until `lagMilliseconds` after the primary had reached the position. A replica that lags further or does
 * not answer is excluded until it has caught up.
 *
 * @param lagMilliseconds how far behind a replica may be
 * @returns stops watching
 */
export function watchReplicas(
  primary: pg.ClientConfig,
  replicas: readonly { readonly replica: Replica; readonly settings: pg.ClientConfig }[],
  lagMilliseconds: number,
): () => Promise<void> {
  const interval = Math.min(maxIntervalMilliseconds, Math.max(minIntervalMilliseconds, lagMilliseconds / 4))
  const timeouts = { connectionTimeoutMillis: maxIntervalMilliseconds, query_timeout: maxIntervalMilliseconds }
  const open = (settings: pg.ClientConfig) => {
    const pool = new pg.Pool({ ...settings, ...timeouts, Client, max: 1 })
    // The next statement reports the error.
    pool.on('error', () => undefined)
    return pool
  }
  const primaryPool = open(primary)
  const watched = replicas.map(({ replica, settings }) => ({ replica, pool: open(settings) }))
  const samples: Sample[] = []
  let isStopped = false
  let isComparing = false
  const timer = setInterval(compareUnlessComparing, interval).unref()
  void compareUnlessComparing()

  async function compareUnlessComparing(): Promise<void> {
    if (isComparing) return
    isComparing = true
    await compare()
    isComparing = false
  }

  async function compare(): Promise<void> {
    if (isStopped) return
    const at = performance.now()
    const position = await readPosition(primaryPool, 'pg_current_wal_lsn()').catch(() => undefined)
    if (position !== undefined) samples.push({ at, position })
    while (samples[0] && samples[0].at <= at - lagMilliseconds) samples.shift()
    await Promise.all(watched.map(({ replica, pool }) => check(replica, pool)))
  }

  async function check(replica: Replica, pool: pg.Pool): Promise<void> {
    try {
      const replayed = await readPosition(pool, 'CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() END')
      const latest = samples.findLast(({ position }) => position <= replayed)
      if (latest) replica.include(latest.at + lagMilliseconds)
      else replica.exclude(new Error('The replica lags too far behind, or the primary does not report its position'))
    } catch (error) {
      replica.exclude(error)
    }
  }

  return async () => {
    isStopped = true
    clearInterval(timer)
    await Promise.all([primaryPool, ...watched.map(({ pool }) => pool)].map((pool) => pool.end()))
  }
}

/** Reads a log sequence number: `16/B374D848` ⇒ 0x16B374D848. */
async function readPosition(pool: pg.Pool, expression: string): Promise<bigint> {
  const { rows } = await pool.query<{ position: string | null }>(`SELECT ${expression} AS position`)
  const [high, low] = rows[0]?.position?.split('/') ?? []
  if (high === undefined || low === undefined) throw new Error('The server is not a replica')
  return BigInt(`0x${high}${low.padStart(8, '0')}`)
}
