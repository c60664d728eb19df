import pg from 'pg'
import type { Replica } from './replica.ts'

/** How far the primary's log had come, and when. */
interface Sample {
  readonly at: number
  readonly position: bigint
}

const fewestMilliseconds = 50
const longestMilliseconds = 1_000

/**
 * Looks again and again how far the primary has come, and how far each replica. A replica that has what the primary had at
 * some moment is good until the lag has passed since that moment, whatever happens to either of them; one that has not, or
 * does not answer, is left out, and taken in again by itself.
 *
 * @param lagMilliseconds how far behind a replica that is used may be
 * @returns ends it
 */
export function watchReplicas(
  primary: pg.ClientConfig,
  replicas: readonly { readonly replica: Replica; readonly settings: pg.ClientConfig }[],
  lagMilliseconds: number,
): () => Promise<void> {
  const interval = Math.min(longestMilliseconds, Math.max(fewestMilliseconds, lagMilliseconds / 4))
  const timeouts = { connectionTimeoutMillis: longestMilliseconds, query_timeout: longestMilliseconds }
  const open = (settings: pg.ClientConfig) => {
    const pool = new pg.Pool({ ...settings, ...timeouts, max: 1 })
    // What is wrong shows when it is asked.
    pool.on('error', () => undefined)
    return pool
  }
  const primaryPool = open(primary)
  const watched = replicas.map(({ replica, settings }) => ({ replica, pool: open(settings) }))
  const samples: Sample[] = []
  let isOver = false
  let isLooking = false
  const timer = setInterval(lookUnlessLooking, interval).unref()
  void lookUnlessLooking()

  async function lookUnlessLooking(): Promise<void> {
    if (isLooking) return
    isLooking = true
    await look()
    isLooking = false
  }

  async function look(): Promise<void> {
    if (isOver) return
    const at = performance.now()
    const position = await positionOf(primaryPool, 'pg_current_wal_lsn()').catch(() => undefined)
    if (position !== undefined) samples.push({ at, position })
    while (samples[0] && samples[0].at <= at - lagMilliseconds) samples.shift()
    await Promise.all(watched.map(({ replica, pool }) => check(replica, pool)))
  }

  async function check(replica: Replica, pool: pg.Pool): Promise<void> {
    try {
      const replayed = await positionOf(pool, 'CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() END')
      const has = samples.findLast(({ position }) => position <= replayed)
      if (has) replica.takeIn(has.at + lagMilliseconds)
      else replica.leaveOut(new Error('It is too far behind, or the primary does not say how far it is'))
    } catch (error) {
      replica.leaveOut(error)
    }
  }

  return async () => {
    isOver = true
    clearInterval(timer)
    await Promise.all([primaryPool, ...watched.map(({ pool }) => pool)].map((pool) => pool.end()))
  }
}

/** Reads a place in the log: `16/B374D848` ⇒ 0x16B374D848. */
async function positionOf(pool: pg.Pool, expression: string): Promise<bigint> {
  const { rows } = await pool.query<{ position: string | null }>(`SELECT ${expression} AS position`)
  const [high, low] = rows[0]?.position?.split('/') ?? []
  if (high === undefined || low === undefined) throw new Error('It does not follow a primary')
  return BigInt(`0x${high}${low.padStart(8, '0')}`)
}
