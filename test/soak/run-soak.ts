import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createRandom } from '../../src/domain/seed/seed.ts'
import { startGateway } from '../support/cli.ts'
import { createCluster } from '../support/cluster.ts'
import { findLeakedConnections } from './connections.ts'
import { inspectorOptions, usedHeap } from './heap.ts'
import { createShapes } from './shapes.ts'
import { createMarkedTenants, idOf, type MarkedTenant, tenantsIn, usersPerTenant } from './tenants.ts'

export interface SoakOptions {
  readonly seconds: number
  /** The number of different operations. */
  readonly shapes: number
  /** How often each operation runs before the first measurement of the heap, while V8 still compiles hot functions. */
  readonly warmUpRounds: number
  /** The allowed growth of the heap, such as 0.1 for 10 %. */
  readonly maxGrowth: number
  readonly tenants: number
  /** The number of concurrent requests. */
  readonly clients: number
  readonly print: (line: string) => void
}

export interface SoakSummary {
  readonly answered: number
  readonly unavailable: number
  readonly aborted: number
  readonly kills: number
  /** Responses with the mark of their own tenant. If there are some, the search for foreign marks works. */
  readonly marked: number
  readonly heapBefore: number
  readonly heapAfter: number
  /** Descriptions of the problems. Empty if there were none. */
  readonly problems: readonly string[]
}

/** The time in which the gateway must replace killed connections. */
const recoveryMilliseconds = 1_000

const maxProblems = 20

/** Sends operations to a gateway for a while, while clients disconnect and database connections are killed. */
export async function runSoak({ seconds, print, ...options }: SoakOptions): Promise<SoakSummary> {
  const cluster = await createCluster()
  try {
    const tenants = await createMarkedTenants(cluster, options.tenants)
    const gateway = await startGateway({ DATABASE_URL: cluster.url, RATE_LIMIT: '0', NODE_OPTIONS: inspectorOptions })
    const session = new pg.Client({ connectionString: cluster.adminUrl })
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

      async function send(query: string, { number, key }: MarkedTenant, mayAbort: boolean): Promise<void> {
        // Sometimes the ids belong to another tenant, so their rows are missing.
        const owner = random.below(5) === 0 ? random.below(tenants.length) : number
        const row = random.below(4) === 0 ? 'shared' : random.below(usersPerTenant)
        const variables = { user: idOf('usr', owner, row), account: idOf('acc', owner, row) }
        const willAbort = mayAbort && random.below(20) === 0
        const signal = willAbort ? AbortSignal.timeout(random.below(20)) : null
        const startedAt = performance.now()
        try {
          const response = await fetch(`${gateway.address}/graphql`, {
            method: 'POST',
            headers: { 'x-api-key': key, 'content-type': 'application/json' },
            signal,
            body: JSON.stringify({ query, variables }),
          })
          checkResponse(response, await response.text(), { number, query, startedAt })
        } catch (error) {
          if (signal?.aborted) counts.aborted += 1
          else note(`${error} ${(error as Error).cause ?? ''}\n${query}`)
        }
      }

      function checkResponse(
        response: Response,
        text: string,
        request: { number: number; query: string; startedAt: number },
      ): void {
        counts.answered += 1
        const found = tenantsIn(text)
        if (found.delete(request.number)) counts.marked += 1
        if (found.size > 0) note(`Tenant ${request.number} got rows of ${[...found]}:\n${request.query}\n${text}`)
        const { errors } = JSON.parse(text) as { errors?: { extensions: { code: string } }[] }
        const isValid = response.status === 200 || (response.status === 503 && response.headers.has('retry-after'))
        const isUnavailable = errors?.every(({ extensions }) => extensions.code === 'SERVICE_UNAVAILABLE') ?? false
        if (isValid && isUnavailable && request.startedAt - lastKill < recoveryMilliseconds) counts.unavailable += 1
        else if (isValid && isUnavailable && lastKill > request.startedAt) counts.unavailable += 1
        else if (response.status !== 200 || errors) note(`${response.status} ${text}\n${request.query}`)
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

      const warmUp = Array.from({ length: options.warmUpRounds }, () => shapes).flat()
      const pickTenant = () => random.pick(tenants)
      await runConcurrently(options.clients, async () => {
        for (let query = warmUp.pop(); query !== undefined; query = warmUp.pop()) {
          await send(query, pickTenant(), false)
        }
      })
      if (!isAlive()) return { ...counts, heapBefore: 0, heapAfter: 0, problems }
      const heapBefore = await usedHeap(gateway.output())
      print(`${counts.answered} requests to warm up; heap ${megabytes(heapBefore)}`)

      const until = performance.now() + seconds * 1_000
      const isRunning = () => performance.now() < until && isAlive() && problems.length < maxProblems
      const reporting = setInterval(() => print(JSON.stringify(counts)), 30_000)
      const killing = (async () => {
        while (isRunning()) {
          await sleep(500 + random.below(2_000))
          await kill()
        }
      })()
      await runConcurrently(options.clients, async () => {
        while (isRunning()) await send(random.pick(shapes), pickTenant(), true)
      })
      await killing
      clearInterval(reporting)
      if (!isAlive()) return { ...counts, heapBefore, heapAfter: 0, problems }

      for (const problem of await findLeakedConnections([gateway.address], cluster.adminUrl)) note(problem)
      const heapAfter = await usedHeap(gateway.output())
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

function runConcurrently(count: number, work: () => Promise<void>): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, work))
}

/** Formats a number of bytes for people. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}
