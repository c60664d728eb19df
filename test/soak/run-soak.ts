import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createRandom } from '../../src/seed/random.ts'
import { startGateway } from '../support/cli.ts'
import { createCluster } from '../support/cluster.ts'
import { inspected, readMetric, usedHeap } from './heap.ts'
import { createShapes } from './shapes.ts'
import { createMarkedTenants, idOf, type MarkedTenant, tenantsIn, usersPerTenant } from './tenants.ts'

export interface SoakOptions {
  readonly seconds: number
  /** How many operations that differ. */
  readonly shapes: number
  /** How often each of them is asked before the heap is looked at: what runs often is compiled anew until then. */
  readonly warmingRounds: number
  /** By what part the heap may be larger in the end. */
  readonly maxGrowth: number
  readonly tenants: number
  /** How many requests at a time. */
  readonly clients: number
  readonly say: (line: string) => void
}

export interface SoakSummary {
  readonly answered: number
  readonly unavailable: number
  readonly aborted: number
  readonly kills: number
  /** How many answers held a mark of their own tenant: what was looked for was there to be found. */
  readonly marked: number
  readonly heapBefore: number
  readonly heapAfter: number
  /** What was wrong; empty when all went well. */
  readonly problems: readonly string[]
}

/** After a kill so much later, at the latest, the gateway has a connection again. */
const killedMilliseconds = 1_000

const maxProblems = 20

/** Asks a gateway for all there is, for a while, with clients that go away and connections that are ended. */
export async function runSoak({ seconds, say, ...options }: SoakOptions): Promise<SoakSummary> {
  const cluster = await createCluster()
  try {
    const tenants = await createMarkedTenants(cluster.url, options.tenants)
    const gateway = await startGateway({ DATABASE_URL: cluster.url, RATE_LIMIT: '0', NODE_OPTIONS: inspected })
    const session = new pg.Client({ connectionString: cluster.url })
    await session.connect()
    try {
      const counts = { answered: 0, unavailable: 0, aborted: 0, kills: 0, marked: 0 }
      const problems: string[] = []
      const note = (problem: string) => {
        if (problems.length < maxProblems) problems.push(problem)
      }
      createInterface({ input: gateway.child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
        if (line.includes('unexpected error')) note(line.slice(0, 1_000))
      })
      gateway.child.once('exit', (code, signal) => {
        if (!isOver) problems.unshift(`The gateway ended with ${code ?? signal}: ${gateway.output().slice(-2_000)}`)
      })
      let isOver = false
      const isAlive = () => gateway.child.exitCode === null && gateway.child.signalCode === null
      const random = createRandom(Date.now())
      const shapes = createShapes(options.shapes)
      let lastKill = Number.NEGATIVE_INFINITY

      async function ask(query: string, { number, key }: MarkedTenant, mayAbort: boolean): Promise<void> {
        // Now and then of another tenant: there is nothing of that id.
        const whose = random.below(5) === 0 ? random.below(tenants.length) : number
        const row = random.below(4) === 0 ? 'shared' : random.below(usersPerTenant)
        const variables = { user: idOf('usr', whose, row), account: idOf('acc', whose, row) }
        const willAbort = mayAbort && random.below(20) === 0
        const signal = willAbort ? AbortSignal.timeout(random.below(20)) : null
        const began = performance.now()
        try {
          const answer = await fetch(`${gateway.address}/graphql`, {
            ...{ method: 'POST', headers: { 'x-api-key': key, 'content-type': 'application/json' }, signal },
            body: JSON.stringify({ query, variables }),
          })
          judge(answer, await answer.text(), { number, query, began })
        } catch (error) {
          if (signal?.aborted) counts.aborted += 1
          else note(`${error} ${(error as Error).cause ?? ''}\n${query}`)
        }
      }

      function judge(answer: Response, text: string, asked: { number: number; query: string; began: number }): void {
        counts.answered += 1
        const found = tenantsIn(text)
        if (found.delete(asked.number)) counts.marked += 1
        if (found.size > 0) note(`Tenant ${asked.number} was shown rows of ${[...found]}:\n${asked.query}\n${text}`)
        const { errors } = JSON.parse(text) as { errors?: { extensions: { code: string } }[] }
        const isRight = answer.status === 200 || (answer.status === 503 && answer.headers.has('retry-after'))
        const isUnavailable = errors?.every(({ extensions }) => extensions.code === 'SERVICE_UNAVAILABLE') ?? false
        if (isRight && isUnavailable && asked.began - lastKill < killedMilliseconds) counts.unavailable += 1
        else if (isRight && isUnavailable && lastKill > asked.began) counts.unavailable += 1
        else if (answer.status !== 200 || errors) note(`${answer.status} ${text}\n${asked.query}`)
      }

      async function kill(): Promise<void> {
        lastKill = performance.now()
        counts.kills += 1
        await session.query(
          `SELECT pg_terminate_backend(pid) FROM (
             SELECT pid FROM pg_stat_activity WHERE application_name = 'fusion-gateway' ORDER BY random() LIMIT $1) AS one`,
          [1 + random.below(10)],
        )
        lastKill = performance.now()
      }

      const warming = Array.from({ length: options.warmingRounds }, () => shapes).flat()
      const pickTenant = () => random.pick(tenants)
      await atATime(options.clients, async () => {
        for (let query = warming.pop(); query !== undefined; query = warming.pop()) {
          await ask(query, pickTenant(), false)
        }
      })
      if (!isAlive()) return { ...counts, heapBefore: 0, heapAfter: 0, problems }
      const heapBefore = await usedHeap(gateway.address, gateway.output())
      say(`${counts.answered} requests to warm up; heap ${megabytes(heapBefore)}`)

      const until = performance.now() + seconds * 1_000
      const isOn = () => performance.now() < until && isAlive() && problems.length < maxProblems
      const speaking = setInterval(() => say(JSON.stringify(counts)), 30_000)
      const killing = (async () => {
        while (isOn()) {
          await sleep(500 + random.below(2_000))
          await kill()
        }
      })()
      await atATime(options.clients, async () => {
        while (isOn()) await ask(random.pick(shapes), pickTenant(), true)
      })
      await killing
      clearInterval(speaking)
      if (!isAlive()) return { ...counts, heapBefore, heapAfter: 0, problems }

      for (let tries = 0; (await readMetric(gateway.address, inUse)) > 0; tries += 1) {
        if (tries === 100) {
          note('Connections are in use though nobody asks')
          break
        }
        await sleep(100)
      }
      const { rows } = await session.query(
        `SELECT pid, query FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'`,
      )
      for (const { pid, query } of rows) note(`Connection ${pid} was left in a transaction, after ${query}`)
      const heapAfter = await usedHeap(gateway.address, gateway.output())
      const growth = heapAfter / heapBefore - 1
      if (growth > options.maxGrowth) note(`The heap grew by ${Math.round(growth * 100)} %`)
      isOver = true
      return { ...counts, heapBefore, heapAfter, problems }
    } finally {
      await session.end()
      const { exitCode, signalCode } = gateway.child
      if (exitCode === null && signalCode === null) await gateway.stop('SIGTERM')
    }
  } finally {
    await cluster.remove()
  }
}

const inUse = 'fusion_database_connections{state="in_use"}'

function atATime(count: number, work: () => Promise<void>): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, work))
}

/** For people. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}
