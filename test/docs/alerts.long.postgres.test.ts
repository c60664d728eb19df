import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type RunningCommand, type RunningGateway, startCommand, startGateway } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster, freePort } from '../support/cluster.ts'
import { projectRoot } from '../support/docs.ts'
import { prepare } from '../support/gateway.ts'
import { startProxy, type TcpProxy } from '../support/proxy.ts'
import { startReceiver } from '../support/webhooks.ts'
import { hasPrometheus, rules } from './monitoring.ts'
import { recordMetrics, type Target } from './record-metrics.ts'

// The condition of each rule is caused at processes that run, and promtool reads what they show. It is written by hand
// (deploy/monitoring/alerts.test.yaml) only where that would take an hour, or a machine of another size.

/** The fault that causes the condition of each rule here, or why none does. */
const causes: Readonly<Record<string, string>> = {
  FusionGatewayDown: 'the database is gone; the database hangs; the gateway is killed',
  FusionProcessDown: 'the gateway is killed',
  FusionErrors: 'the database is gone',
  FusionFieldErrors: 'a column is missing',
  FusionShedding: 'there are more requests than places',
  FusionEventLoopSlow: 'a handler blocks the worker',
  FusionMemory: 'by hand: 0.9 GiB for ten minutes',
  FusionConnectionsExhausted: 'the database is slow',
  FusionDatabaseSlow: 'the database is slow',
  FusionReplicaUnusable: 'the replica does not answer',
  FusionNodeUnusable: 'by hand: needs Citus. test/distributed stops a node',
  FusionRedisDown: 'Redis does not answer',
  FusionEventsStalled: 'a transaction stays open',
  FusionJobsWaiting: 'no worker has the type of a job',
  FusionNumbersOld: 'the database hangs for a minute',
  FusionJobsFailing: 'a handler fails',
  FusionWebhooksFailing: 'an endpoint fails',
  FusionWebhookDisabled: 'an endpoint answers 410',
  FusionLogDropped: 'the disk of the log is full',
  FusionDocumentsNotRepeated: 'by hand: two hours of new documents',
  FusionSchemaIncomplete: 'by hand: ten minutes without an index. test/db/missing drops some',
}

it('each rule has a cause here, or a reason why it has none', () => {
  expect(Object.keys(causes).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted())
})

describe.skipIf(!hasPrometheus || !canCreateClusters)('an alert fires in time when', () => {
  let cluster: Cluster
  let proxy: TcpProxy
  let url: string
  let headers: Record<string, string>
  let gateway: RunningGateway
  let target: Target
  const secrets = { SECRET_KEYS: Buffer.alloc(32, 1).toString('base64'), FETCH_PRIVATE_NETWORKS: 'on' }

  async function asAdmin(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: cluster.adminUrl })
    await client.connect()
    await client.query(sql).finally(() => client.end())
  }

  /** Starts a gateway behind the proxy, on a port of its own for metrics. */
  async function start(env: Record<string, string> = {}) {
    const port = await freePort()
    const started = await startGateway({ DATABASE_URL: url, METRICS_PORT: String(port), ...secrets, ...env })
    return { started, target: { job: 'fusion-gateway', url: `http://127.0.0.1:${port}/metrics` } as const }
  }

  beforeAll(async () => {
    if (!hasPrometheus || !canCreateClusters) return
    cluster = await createCluster()
    proxy = await startProxy(Number(new URL(cluster.url).port))
    const { key } = await prepare(cluster)
    headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const behind = new URL(cluster.url)
    behind.port = String(proxy.port)
    url = behind.href
    ;({ started: gateway, target } = await start({ DATABASE_POOL_SIZE: '2', RESPONSE_CACHE_MIB: '0' }))
  })
  afterAll(async () => {
    await gateway?.stop('SIGKILL')
    await proxy?.close()
    await cluster?.remove()
  })

  const send = (address: string, route: string, body?: object) =>
    fetch(address + route, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
      .then((response) => response.text().then(() => response.status))
      .catch(() => 0)
  const query = async (address: string, text: string) => {
    const body = JSON.stringify({ query: text })
    const response = await fetch(`${address}/graphql`, { method: 'POST', headers, body })
    return JSON.stringify(await response.json())
  }

  /** Sends requests from several clients all the time, until the test ends. */
  function startLoad(address: string, clients = 10): void {
    let isOver = false
    const running = Array.from({ length: clients }, async () => {
      while (!isOver) {
        await send(address, '/users?limit=1')
        await send(address, '/graphql', { query: '{ users(first: 1) { nodes { id phone } } }' })
        await sleep(20)
      }
    })
    onTestFinished(async () => {
      isOver = true
      await Promise.all(running)
    })
  }
  const untilReady = () => expect.poll(() => send(gateway.address, '/ready')).toBe(200)
  /** Reads a number of a process. */
  async function metric(target: Target, name: string): Promise<number> {
    const text = await (await fetch(target.url)).text()
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  }

  it('the database is gone: no gateway is ready within a minute, errors within two', async () => {
    startLoad(gateway.address)
    const recorded = recordMetrics([target])
    await untilReady()
    await recorded.take(4)
    recorded.markFault()
    proxy.cut()
    await recorded.take(12)
    proxy.restore()
    await untilReady()
    await recorded.take(2)
    await recorded.expectAlerts({ FusionGatewayDown: 60, FusionErrors: 120 }, { overAtEnd: ['FusionGatewayDown'] })
  })

  it('the database hangs: no gateway is ready within a minute', async () => {
    await untilReady()
    startLoad(gateway.address)
    const recorded = recordMetrics([target])
    await recorded.take(3)
    recorded.markFault()
    proxy.hang()
    await recorded.take(7)
    proxy.restore()
    await recorded.expectAlerts({ FusionGatewayDown: 60 })
  })

  it('a column is missing', async () => {
    await untilReady()
    startLoad(gateway.address)
    const recorded = recordMetrics([target])
    await recorded.take(3)
    recorded.markFault()
    await asAdmin('ALTER TABLE "user" RENAME COLUMN phone TO number')
    await recorded.take(11)
    await asAdmin('ALTER TABLE "user" RENAME COLUMN number TO phone')
    await recorded.expectAlerts({ FusionFieldErrors: 120 })
  })

  it('the database is slow', async () => {
    await untilReady()
    // The pool has two connections. On a busy machine ten clients would wait for them before the fault.
    startLoad(gateway.address, 1)
    const recorded = recordMetrics([target], { seconds: 60 })
    await recorded.take(6)
    recorded.markFault()
    startLoad(gateway.address)
    // There and back.
    proxy.delay(350)
    await recorded.take(17)
    proxy.restore()
    await recorded.expectAlerts({ FusionDatabaseSlow: 16 * 60, FusionConnectionsExhausted: 16 * 60 })
  })

  it('there are more requests than places, and neither the replica nor Redis answers', async () => {
    const nowhere = `127.0.0.1:${await freePort()}`
    const { started, target } = await start({
      // A key may hold a fifth, so one client holds all places.
      MAX_IN_FLIGHT: '1',
      REDIS_URL: `redis://${nowhere}`,
      DATABASE_REPLICA_URLS: `postgresql://nobody@${nowhere}/fusion`,
    })
    onTestFinished(async () => void (await started.stop('SIGKILL')))
    const recorded = recordMetrics([target])
    await recorded.take(1)
    recorded.markFault()
    startLoad(started.address, 20)
    await recorded.take(15)
    await recorded.expectAlerts({ FusionShedding: 120, FusionReplicaUnusable: 150, FusionRedisDown: 120 })
  })

  it('the disk of the log is full', async () => {
    const [port, metricsPort] = [await freePort(), await freePort()]
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, ['bin/fusion.js', 'serve'], {
      cwd: projectRoot,
      env: { ...process.env, ...secrets, DATABASE_URL: url, PORT: String(port), METRICS_PORT: String(metricsPort) },
      stdio: ['ignore', full, 'inherit'],
    })
    closeSync(full)
    onTestFinished(() => void child.kill('SIGKILL'))
    const target: Target = { job: 'fusion-gateway', url: `http://127.0.0.1:${metricsPort}/metrics` }
    const stalled = () => metric(target, 'fusion_log_stalled_seconds').catch(() => 0)
    await expect.poll(stalled, { timeout: 60_000 }).toBeGreaterThan(25)
    const recorded = recordMetrics([target])
    await recorded.take(1)
    recorded.markFault()
    await recorded.take(12)
    await recorded.expectAlerts({ FusionLogDropped: 120 })
  })

  describe('workers run, and', () => {
    let folder: string
    let workers: RunningCommand[]
    let targets: Target[]
    const create = (jobType: string) =>
      query(gateway.address, `mutation { createJob(input: { jobType: "${jobType}", maxAttempts: 1 }) { job { id } } }`)

    async function startWorker(file: string) {
      const port = await freePort()
      const args = ['work', '--handlers', path.join(folder, file)]
      workers.push(await startCommand(args, { DATABASE_URL: url, METRICS_PORT: String(port), ...secrets }, 'working'))
      targets.push({ job: 'fusion-worker', url: `http://127.0.0.1:${port}/metrics` })
    }

    beforeAll(async () => {
      if (!hasPrometheus || !canCreateClusters) return
      folder = mkdtempSync(path.join(tmpdir(), 'fusion-handlers-'))
      workers = []
      targets = [target]
      writeFileSync(path.join(folder, 'fails.js'), `export function fails() { throw new Error('no') }\n`)
      writeFileSync(
        path.join(folder, 'blocks.js'),
        `export async function blocks(_payload, { signal }) {
          while (!signal.aborted) {
            for (const end = performance.now() + 400; performance.now() < end; );
            await new Promise(setImmediate)
          }
        }\n`,
      )
      await startWorker('fails.js')
      await startWorker('blocks.js')
    })
    afterAll(async () => {
      for (const worker of workers ?? []) await worker.stop('SIGKILL')
      if (folder) rmSync(folder, { recursive: true })
    })

    it('handlers and endpoints fail', async () => {
      await untilReady()
      const failing = await startReceiver((response) => response.writeHead(500).end())
      const gone = await startReceiver((response) => response.writeHead(410).end())
      onTestFinished(async () => void (await Promise.all([failing.close(), gone.close()])))
      const recorded = recordMetrics(targets, { seconds: 120 })
      await recorded.take(2)
      recorded.markFault()
      for (const endpoint of [failing, gone]) {
        const input = `{ url: "${endpoint.url}", eventTypes: [JOB_CREATED] }`
        expect(
          await query(gateway.address, `mutation { createWebhook(input: ${input}) { webhook { id } } }`),
        ).toContain('"id"')
      }
      await create('blocks')
      await asAdmin(`
        INSERT INTO job (tenant_app_id, id, job_type, max_attempts, run_at, updated_at)
        SELECT id, 'job_00000000-0000-7000-8000-000000000000', 'nobody', 1, now() - interval '10 minutes', now() FROM tenant_app`)
      await recorded.take(20, () => create('fails'))
      const minutes = (count: number) => count * 60
      await recorded.expectAlerts({
        FusionEventLoopSlow: minutes(14),
        // The numbers of jobs are read again after ten seconds, which count as twenty minutes here.
        FusionJobsWaiting: minutes(32),
        FusionJobsFailing: minutes(28),
        FusionWebhookDisabled: minutes(14),
        FusionWebhooksFailing: minutes(38),
      })
    })

    const highest = async (name: string) => Math.max(...(await Promise.all(targets.map((one) => metric(one, name)))))

    /** Leaves a transaction open until the test ends. Resolves when the metrics say that events wait for it. */
    async function stallEvents(): Promise<void> {
      const stalledSeconds = () => highest('fusion_events_stalled_seconds')
      await expect.poll(stalledSeconds, { timeout: 10_000 }).toBe(0)
      const writer = new pg.Client({ connectionString: cluster.adminUrl })
      await writer.connect()
      onTestFinished(() => writer.end())
      await writer.query('BEGIN')
      await writer.query(`UPDATE job SET updated_at = now() WHERE id = 'job_00000000-0000-7000-8000-000000000000'`)
      await create('later')
      await expect.poll(stalledSeconds, { timeout: 60_000 }).toBeGreaterThan(0)
    }

    it('a transaction stays open', async () => {
      await untilReady()
      await stallEvents()
      const recorded = recordMetrics(targets)
      await recorded.take(1)
      recorded.markFault()
      await recorded.take(10)
      await recorded.expectAlerts({ FusionEventsStalled: 90 })
    })

    it('the database hangs for a minute: alerts that read its numbers go on, and no other one pages', async () => {
      await untilReady()
      // The oldest due job is that of the test before last.
      await stallEvents()
      const recorded = recordMetrics(targets)
      // Longer than these rules wait.
      await recorded.take(16)
      onTestFinished(() => proxy.restore())
      proxy.hang()
      const age = () => highest('fusion_numbers_age_seconds{numbers="jobs"}')
      await expect.poll(age, { timeout: 90_000, interval: 1_000 }).toBeGreaterThan(50)
      recorded.markFault()
      await recorded.take(17)
      await recorded.expectAlerts(
        { FusionNumbersOld: 180, FusionGatewayDown: 60 },
        { pagesAtEnd: ['FusionEventsStalled', 'FusionGatewayDown', 'FusionJobsWaiting'] },
      )
    }, 300_000)
  })

  it('the gateway is killed', async () => {
    await untilReady()
    const recorded = recordMetrics([target])
    await recorded.take(2)
    recorded.markFault()
    await gateway.stop('SIGKILL')
    await recorded.take(18)
    await recorded.expectAlerts({ FusionGatewayDown: 60, FusionProcessDown: 180 })
  })
})
