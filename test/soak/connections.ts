import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const maxTries = 100

/**
 * Finds connections to the database that gateways use, or that are in a transaction, although no request is under way.
 *
 * @returns a description of each
 */
export async function findLeakedConnections(gateways: readonly string[], url: string): Promise<string[]> {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  try {
    const checks = [...gateways.map((address) => () => findInUse(address)), () => findOpenTransactions(session)]
    return (await Promise.all(checks.map(untilNothing))).flat()
  } finally {
    await session.end()
  }
}

/** What a check still finds after ten seconds: a gateway uses connections for its own work too, such as usage. */
async function untilNothing(check: () => Promise<string[]>): Promise<string[]> {
  for (let tries = 1; ; tries += 1) {
    const found = await check()
    if (found.length === 0 || tries === maxTries) return found
    await sleep(100)
  }
}

async function findInUse(address: string): Promise<string[]> {
  return (await readMetric(address, inUse)) > 0
    ? [`Connections of ${address} are in use although no request is under way`]
    : []
}

async function findOpenTransactions(session: pg.Client): Promise<string[]> {
  const { rows } = await session.query(
    `SELECT pid, query FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'`,
  )
  return rows.map(({ pid, query }) => `Connection ${pid} was left in a transaction, after ${query}`)
}

const inUse = 'fusion_database_connections{state="in_use"}'

/** Reads one value of a gateway's `/metrics`. */
async function readMetric(address: string, series: string): Promise<number> {
  const text = await (await fetch(`${address}/metrics`)).text()
  const line = text.split('\n').find((text) => text.startsWith(`${series} `))
  if (line === undefined) throw new Error(`There is no metric ${series}`)
  return Number(line.slice(series.length))
}
