import pg from 'pg'
import { type CheckerResult, type Counts, runChecker } from './run-checker.ts'
import { startSystem } from './start-system.ts'

export interface CheckOptions {
  readonly seconds: number
  /** It also goes on until there were so many reads. */
  readonly reads: number
  readonly seed: number
  readonly print: (line: string) => void
  /** Aborts to end the run early. */
  readonly end?: AbortSignal
}

const tables = { tenants: 3, people: 12 }

/**
 * Runs the checker on two gateways, while an old transaction stays open, others write and commit much later, and the
 * server is restarted.
 */
export async function checkSystem({
  seconds,
  reads,
  seed,
  print: printLine,
  end,
}: CheckOptions): Promise<CheckerResult> {
  const started = performance.now()
  const print = (line: string) => printLine(`${((performance.now() - started) / 1_000).toFixed(0)} s: ${line}`)
  const system = await startSystem(tables)
  print('the gateways serve')
  const { cluster, places, sql, tenants } = system
  const began = performance.now()
  let old = await openOldTransaction(cluster.adminUrl)
  let restart: Promise<void> | undefined
  let isRestarting = false
  let printed = 0

  /** How much of the run is over: 1 is all of it. */
  const part = ({ reads: sofar }: Counts) =>
    Math.min((performance.now() - began) / (seconds * 1_000), reads > 0 ? sofar / reads : 1)

  async function restartServer(): Promise<void> {
    isRestarting = true
    print('the server is restarted')
    await cluster.stop('immediate')
    await cluster.start()
    await old.end().catch(() => undefined)
    old = await openOldTransaction(cluster.adminUrl)
    await untilServing()
    isRestarting = false
    print('the server serves again')
  }

  /** Waits until each process has served reads and writes again: there is no failed request for a moment. */
  async function untilServing(): Promise<void> {
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

  try {
    const result = await runChecker({
      places,
      sql,
      tenants,
      readers: 16,
      writers: 16,
      seed,
      readsPerWrite: 150,
      mayFail: () => isRestarting,
      isOver(counts) {
        if (counts.reads >= printed + 20_000) {
          printed = counts.reads
          print(JSON.stringify(counts))
        }
        if (part(counts) > 0.5) restart ??= restartServer()
        return end?.aborted === true || (part(counts) >= 1 && !isRestarting)
      },
    })
    await restart
    return result
  } finally {
    await restart?.catch(() => undefined)
    await old.end().catch(() => undefined)
    await system.remove()
  }
}

/** Opens a transaction that has a number and a snapshot, and does not end. */
async function openOldTransaction(connectionString: string): Promise<pg.Client> {
  const session = new pg.Client({ connectionString })
  session.on('error', () => undefined)
  await session.connect()
  await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id(); SELECT count(*) FROM event')
  return session
}
