import pg from 'pg'
import type { Replica } from '../replicas/replica.ts'
import { Client } from './client.ts'

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
