import pg from 'pg'
import type { Cluster } from '../support/cluster.ts'
import { readBlocks } from '../support/docs.ts'
import { migrate, roleOf } from '../support/migrate.ts'
import { run } from '../support/postgresql.ts'
import { type FollowerResult, startFollowers } from './followers.ts'
import { type CheckerResult, type Counts, runChecker } from './run-checker.ts'
import { startSystem } from './start-system.ts'
import { untilSettled } from './write.ts'

export interface CheckOptions {
  readonly seconds: number
  /** It also goes on until there were so many reads. */
  readonly reads: number
  readonly seed: number
  /** How many live queries are followed. */
  readonly followers: number
  readonly print: (line: string) => void
  /** Aborts to end the run early. */
  readonly end?: AbortSignal
}

/** Of reads, and of live queries. */
export type SystemResult = CheckerResult & { readonly live: Omit<FollowerResult, 'problems'> }

/** A part of the run: what happens before it, and while others read and write. */
interface Part {
  before?(): Promise<void>
  meanwhile?(): Promise<void>
}

const tables = { tenants: 3, people: 12 }

/** A transaction that stays open longer keeps PostgreSQL from removing so many versions of rows that reads get slow. */
const readsOfOldTransaction = 5_000

/**
 * Runs the checker on two gateways, while an old transaction stays open, and others write and commit much later. The
 * server is restarted, its replica takes its place, a backup is restored, and the rows are moved to another database.
 * The gateways go on.
 */
export async function checkSystem({
  seconds,
  reads,
  seed,
  followers: count,
  print: printLine,
  end,
}: CheckOptions): Promise<SystemResult> {
  const started = performance.now()
  const print = (line: string) => printLine(`${((performance.now() - started) / 1_000).toFixed(0)} s: ${line}`)
  const system = await startSystem(tables)
  print('the gateways serve')
  const { places, sql, database, tenants, replica } = system
  const people = tenants.flatMap((tenant) => tenant.people)
  /** The server that has the database, and the URL of the database there for the administrator. */
  let primary = system.primary
  let adminUrl = primary.adminUrl
  const old = holdOldTransaction(() => adminUrl)
  let backup: Cluster | undefined
  let mayFail = false
  const followers = startFollowers({ places, tenants, count, seed, mayFail: () => mayFail })

  /** Lets requests fail until each process has served reads and writes again. */
  async function interrupt(what: string, work: () => Promise<void>): Promise<void> {
    print(what)
    mayFail = true
    await work()
    await untilServed()
    old.renew()
    mayFail = false
    print('the gateways serve again')
  }

  /** Waits until each process has served requests again: there is no failed request for a moment. */
  async function untilServed(): Promise<void> {
    const [tenant] = tenants
    const headers = { 'x-api-key': tenant?.writingKey ?? '', 'content-type': 'application/json', connection: 'close' }
    const query = 'mutation { updateUser(input: { id: "nobody" }) { userErrors { code } } userless: __typename }'
    for (const { address } of places) {
      for (let inSuccession = 0; inSuccession < 10 && !end?.aborted; ) {
        const isServed = await Promise.all([
          fetch(`${address}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) }),
          fetch(`${address}/users/nobody`, { headers }),
        ]).then(
          async ([written, read]) => (await written.text()).includes('NOT_FOUND') && read.status === 404,
          () => false,
        )
        inSuccession = isServed ? inSuccession + 1 : 0
      }
    }
  }

  const restart = () =>
    interrupt('the server is restarted', async () => {
      await primary.stop('immediate')
      await primary.start()
    })

  const failOver = () =>
    interrupt('the replica takes the place of the server', async () => {
      await primary.stop('immediate')
      primary = replica
      adminUrl = replica.adminUrl
      system.retarget(replica)
      await run(adminUrl, 'SELECT pg_promote(true, 60)')
    })

  const restore = () =>
    interrupt('the backup is restored', async () => {
      if (!backup) throw new Error('There is no backup')
      followers.pause()
      await primary.stop('immediate')
      primary = backup
      adminUrl = backup.adminUrl
      system.retarget(backup)
      const until = performance.now() + 60_000
      await untilSettled(sql, people, { isRestored: true, mayFail: () => performance.now() < until && !end?.aborted })
      followers.resume()
    })

  const move = () =>
    interrupt('the rows are moved to another database', async () => {
      const [block] = readBlocks('docs/operating.md').filter(({ code }) => code.includes('MOVED_DATABASE_URL'))
      const urlOf = (url: string) => Object.assign(new URL(url), { pathname: '/moved' }).href
      await run(primary.adminUrl, `CREATE DATABASE moved OWNER "${roleOf(primary.ownerUrl)}"`)
      await migrate(urlOf(primary.ownerUrl), roleOf(primary.url))
      const variables = { DATABASE_URL: primary.adminUrl, MOVED_DATABASE_URL: urlOf(primary.adminUrl) }
      await primary.runScript(block?.code ?? 'false', variables)
      adminUrl = urlOf(primary.adminUrl)
      system.retarget({ url: urlOf(primary.url) })
      // The sessions that PgBouncer's clients hold stay in the former database.
      await run(adminUrl, 'ALTER DATABASE fusion ALLOW_CONNECTIONS false')
      await run(adminUrl, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'fusion'`)
    })

  const parts: readonly Part[] = [
    { meanwhile: restart },
    {
      async meanwhile() {
        await failOver()
        backup = await primary.restoreBackup()
        print('there is a backup')
      },
    },
    { before: restore },
    { before: move },
  ]

  const total: Counts = { reads: 0, hits: 0, misses: 0, writes: 0, stale: 0, wrong: 0, torn: 0, failed: 0 }
  const problems: string[] = []

  async function runPart({ before, meanwhile }: Part, number: number): Promise<void> {
    if (before) {
      await before()
      await followers.settle()
    }
    const began = performance.now()
    const [milliseconds, least] = [(seconds * 1_000) / parts.length, reads / parts.length]
    let oldUntil = readsOfOldTransaction
    let working: Promise<void> | undefined
    let isWorking = meanwhile !== undefined
    let error: unknown
    const result = await runChecker({
      places,
      sql,
      database,
      tenants,
      readers: 16,
      writers: 16,
      seed: seed * parts.length + number,
      readsPerWrite: 150,
      mayFail: () => mayFail,
      isOver(counts) {
        const part = Math.min((performance.now() - began) / milliseconds, least > 0 ? counts.reads / least : 1)
        if (counts.reads >= oldUntil) {
          oldUntil += readsOfOldTransaction
          old.renew()
        }
        if (part > 0.3 && meanwhile)
          working ??= meanwhile()
            .catch((thrown) => {
              error = thrown
            })
            .finally(() => {
              isWorking = false
            })
        return error !== undefined || end?.aborted === true || (part >= 1 && !isWorking)
      },
    })
    await working
    if (error !== undefined) throw error
    await followers.settle()
    for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += result[name]
    problems.push(...result.problems)
    print(JSON.stringify({ ...total, ...followers.counts }))
  }

  try {
    for (const [number, part] of parts.entries())
      if (problems.length + followers.problems.length === 0 && !end?.aborted) await runPart(part, number)
  } catch (error) {
    if (!end?.aborted) throw error
  } finally {
    await followers.end()
    await old.end()
    await system.remove()
    await backup?.remove()
  }
  const { problems: ofFollowers, ...live } = await followers.end()
  return { ...total, live, problems: [...problems, ...ofFollowers] }
}

/** Holds a transaction open that has a number and a snapshot. */
function holdOldTransaction(url: () => string) {
  let held: Promise<pg.Client> | undefined
  const end = () => held?.then((session) => session.end()).catch(() => undefined)
  const renew = () => {
    const ended = end()
    held = open(ended)
    held.catch(() => undefined)
  }

  async function open(ended: Promise<void> | undefined): Promise<pg.Client> {
    await ended
    const session = new pg.Client({ connectionString: url() })
    session.on('error', () => undefined)
    await session.connect()
    await session.query(
      'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id(); SELECT count(*) FROM event',
    )
    return session
  }

  renew()
  return { renew, end }
}
