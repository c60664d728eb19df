import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKeyRing } from '@fusion-gateway/auth'
import type { Database } from '@fusion-gateway/database'
import { createFairQueues, createWriteQueue } from '@fusion-gateway/limits'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { startWorker } from '../../src/domain/job/worker/worker.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { startMaintenance } from '../../src/server/start-work.ts'
import type { GraphQLResponse, TestTenant } from '../support/app.ts'
import { startCommand, startGateway } from '../support/cli.ts'
import { type Cluster, freePort } from '../support/cluster.ts'
import { followNodes } from '../support/database.ts'
import { createGateway, type Gateway } from '../support/gateway.ts'
import { locationOf, settings } from '../support/settings.ts'
import { type Receiver, silentLog, startDeliveriesOf, startReceiver, webhookClient } from '../support/webhooks.ts'
import { type CitusServers, canCreateCitus, createCitusServers, distribute } from './citus-servers.ts'
import { followFeed } from './load.ts'
import { createTenantOn } from './nodes.ts'

// The servers are those of the test, because it stops them. TEST_CITUS_URL says that Citus is to be tested.
const isTested = Boolean(process.env['TEST_CITUS_URL']) && canCreateCitus

let servers: CitusServers
let database: Database
let gateway: Gateway
let coordinator: Cluster
let node: Cluster
/** A tenant on the node that fails, and one on the other node. */
let failing: TestTenant
let other: TestTenant
/** A tenant that has sent nothing yet. */
let unused: TestTenant

const hostOf = ({ adminUrl }: Cluster) => new URL(adminUrl).host

beforeAll(async () => {
  if (!isTested) return
  servers = await createCitusServers(2)
  const [first, second] = servers.nodes as [Cluster, Cluster]
  coordinator = servers.coordinator
  await distribute(servers)
  const queues = createFairQueues()
  database = await openDatabase(locationOf(servers.coordinator.url), { runWrite: createWriteQueue(queues) })
  await followNodes(database)
  const keyRing = createKeyRing([randomBytes(32)])
  gateway = await createGateway(database, { ...settings, queues, keyRing, fetchPrivateNetworks: true })
  let tenants = 0
  const createOne = async () => {
    tenants += 1
    const { id: tenantAppId, name } = await createTenant(database, `Tenant ${tenants}`)
    const { key, row } = await createKey(database, { tenantAppId, name: 'key' })
    return { tenantAppId, name, key, keyId: row.id }
  }
  node = first
  failing = await createTenantOn({ database, createTenant: createOne }, hostOf(first))
  other = await createTenantOn({ database, createTenant: createOne }, hostOf(second))
  unused = await createOne()
}, 120_000)
afterAll(async () => {
  await gateway?.close()
  await database?.close()
  await servers?.remove()
})

async function graphql<Data>({ key }: TestTenant, query: string, variables?: Record<string, unknown>) {
  const headers = { 'x-api-key': key }
  const response = await gateway.app.inject({ method: 'POST', url: '/graphql', headers, payload: { query, variables } })
  return response.json() as GraphQLResponse<Data>
}

type WhileDown = () => Promise<void>

async function restart(server: Cluster): Promise<void> {
  await server.stop('fast')
  await server.start()
}

/** Its processes may need a moment to end. */
async function startAgain(server: Cluster): Promise<void> {
  const start = () =>
    server.start().then(
      () => true,
      () => false,
    )
  await expect.poll(start, { timeout: 10_000 }).toBe(true)
}

/** @param whileDown called when the server does not run */
async function kill(server: Cluster, whileDown: WhileDown): Promise<void> {
  server.kill()
  await whileDown().finally(() => startAgain(server))
}

async function freeze(server: Cluster, whileDown: WhileDown): Promise<void> {
  server.freeze()
  await whileDown().finally(() => server.thaw())
}

interface Client {
  /** The ids of users that were created. */
  readonly created: string[]
  /** The ids of jobs that were created. */
  readonly jobs: string[]
  readonly errors: string[]
  readonly milliseconds: number[]
  stop(): Promise<void>
}

const mutation = `mutation ($mark: JSONObject!) {
  createUser(input: { name: "A", email: "a@example.com", phone: "1" }) { user { id } userErrors { code } }
  createJob(input: { jobType: "mark", payload: $mark }) { job { id } }
}`

interface Created {
  readonly createUser: { readonly user: { readonly id: string } } | null
  readonly createJob: { readonly job: { readonly id: string } } | null
}

/** Creates users and jobs of a tenant, one after the other. */
function startClient(tenant: TestTenant): Client {
  const client = { created: [] as string[], jobs: [] as string[], errors: [] as string[], milliseconds: [] as number[] }
  let isOver = false
  let sent = 0
  const send = async () => {
    while (!isOver) {
      sent += 1
      const startedAt = performance.now()
      const mark = { mark: `${tenant.tenantAppId} ${sent}` }
      const { data: result, errors } = await graphql<Created>(tenant, mutation, { mark })
      client.milliseconds.push(performance.now() - startedAt)
      if (result?.createUser) client.created.push(result.createUser.user.id)
      if (result?.createJob) client.jobs.push(result.createJob.job.id)
      for (const error of errors ?? []) client.errors.push(String(error.extensions['code']))
      await sleep(20)
    }
  }
  const sending = send()
  return {
    ...client,
    async stop() {
      isOver = true
      await sending
    },
  }
}

/** Runs the jobs of all tenants. */
function startJobs() {
  const { jobs, events } = gateway.services
  const marks: string[] = []
  const handler = async ({ mark }: { readonly mark: string }) => void marks.push(mark)
  const log = { ...silentLog, info: () => undefined } as never
  const worker = startWorker({
    jobs,
    events,
    log,
    handlers: new Map([['mark', handler]]),
    concurrency: 10,
    leaseSeconds: 5,
    pollMilliseconds: 200,
  })
  const stopMaintenance = startMaintenance({ jobs, log, retentionDays: 30, intervalMilliseconds: 500 })
  return {
    /** Those of the jobs that have run, one for each time. */
    marks,
    async stop() {
      await worker.stop(5_000)
      await stopMaintenance()
    },
  }
}

const p99 = (values: readonly number[]) => values.toSorted((one, two) => one - two)[Math.floor(values.length * 0.99)]

async function receive(tenant: TestTenant): Promise<Receiver> {
  const receiver = await startReceiver()
  await webhookClient({ graphql }, tenant).create(receiver.url)
  return receiver
}

const idsIn = ({ messages }: Receiver) => messages.map(({ body }) => JSON.parse(body).data?.resourceId ?? body)

/** How long a server is down, and how long the time before it is measured. */
const downMilliseconds = 60_000
const measuredMilliseconds = 15_000

interface Failure {
  readonly fail: (server: Cluster, whileDown: WhileDown) => Promise<void>
  /** Whether it is the coordinator, which has no rows of tenants. */
  readonly isCoordinator?: boolean
}

describe.skipIf(!isTested)('a server that fails', () => {
  it.each<[string, Failure]>([
    ['a node is restarted', { fail: restart }],
    ['a node is killed, and started again', { fail: kill }],
    ['a node hangs, and goes on', { fail: freeze }],
    ['the coordinator is killed, and started again', { fail: kill, isCoordinator: true }],
    ['the coordinator hangs, and goes on', { fail: freeze, isCoordinator: true }],
  ])(
    '%s: its tenants get 503 until it is back, and others notice nothing',
    async (_, { fail, isCoordinator = false }) => {
      const tenants = [failing, other]
      const readers = await Promise.all(tenants.map((tenant) => followFeed(gateway, tenant)))
      const receivers = await Promise.all(tenants.map(receive))
      const stopDeliveries = startDeliveriesOf(gateway)
      const jobs = startJobs()
      const clients = tenants.map(startClient) as [Client, Client]
      onTestFinished(async () => {
        for (const client of clients) await client.stop()
        await stopDeliveries()
        await jobs.stop()
        for (const reader of readers) reader.stop()
        for (const receiver of receivers) await receiver.close()
      })
      /** The tenants that are to notice nothing. */
      const unconcerned = isCoordinator ? [0, 1] : [1]
      const [ofFailing, ofOther] = clients
      await sleep(measuredMilliseconds)
      const usual = p99(ofOther.milliseconds) ?? 0
      const measuredFrom = ofOther.milliseconds.length
      await fail(isCoordinator ? coordinator : node, async () => {
        const downAt = performance.now()
        /** How much of each kind the tenants of other servers have. */
        const countOthers = () =>
          unconcerned.flatMap((index) => [
            readers[index]?.received.length ?? 0,
            receivers[index]?.messages.length ?? 0,
            jobs.marks.filter((mark) => mark.startsWith(String(tenants[index]?.tenantAppId))).length,
            clients[index]?.created.length ?? 0,
          ])
        // Long enough for all that waits for the server to have given up.
        await sleep(7_000)
        while (performance.now() - downAt < downMilliseconds) {
          const before = countOthers()
          const more = () => countOthers().map((count, kind) => count > (before[kind] ?? 0) + 10)
          await expect.poll(more, { timeout: 10_000 }).toEqual(before.map(() => true))
        }
        if (isCoordinator) await expectService()
      })
      const after = ofFailing.created.length
      await expect.poll(() => ofFailing.created.length, { timeout: 10_000 }).toBeGreaterThan(after + 10)
      for (const client of clients) await client.stop()
      expect([...new Set(ofFailing.errors)]).toEqual(isCoordinator ? [] : ['SERVICE_UNAVAILABLE'])
      expect(ofOther.errors).toEqual([])
      expect(p99(ofOther.milliseconds.slice(measuredFrom))).toBeLessThan(3 * usual)
      for (const [index, { created, jobs: ids }] of clients.entries()) {
        const { received, tenantAppId } = readers[index] as (typeof readers)[number]
        // The deliverer could not record what it held when the node failed: as when its lease has expired.
        const held = { tenantAppId, status: 'RUNNING' }
        await database.prisma.webhookDelivery.updateMany({ where: held, data: { nextAttemptAt: new Date(0) } })
        const unfinished = { tenantAppId, status: { not: 'SUCCEEDED' as const } }
        await expect.poll(() => database.prisma.job.count({ where: unfinished }), { timeout: 20_000 }).toBe(0)
        const stored = await database.prisma.job.findMany({ where: { tenantAppId, id: { in: ids } } })
        expect(stored.length).toBe(ids.length)
        const own = jobs.marks.filter((mark) => mark.startsWith(tenantAppId))
        // A job runs again only if the node failed while it ran.
        const again = own.length - new Set(own).size
        expect(again).toBeLessThanOrEqual(unconcerned.includes(index) ? 0 : 10)
        const log = await database.prisma.event.findMany({ where: { tenantAppId }, orderBy: { id: 'asc' } })
        await expect.poll(() => received.at(-1), { timeout: 10_000 }).toBe(log.at(-1)?.id)
        const followed = log.slice(-received.length)
        expect(received).toEqual(followed.map(({ id }) => id))
        expect(followed.map(({ resourceId }) => resourceId)).toEqual(expect.arrayContaining(created))
        const missing = () => {
          const arrived = new Set(idsIn(receivers[index] as Receiver))
          return created.filter((id) => !arrived.has(id))
        }
        await expect.poll(missing, { timeout: 20_000 }).toEqual([])
      }
    },
    240_000,
  )
})

/** What works and what does not without the server of DATABASE_URL. */
async function expectService(): Promise<void> {
  expect((await gateway.app.inject('/ready')).statusCode).toBe(200)
  // No process has read the key before.
  expect(await graphql(unused, '{ users(first: 1) { nodes { id } } }')).toMatchObject({ data: { users: {} } })
  // It is written on all servers.
  const create = 'mutation { createApiKey(input: { name: "new" }) { apiKey { id } } }'
  expect(await graphql(other, create)).toMatchObject({ errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] })
}

describe.skipIf(!isTested)('serve and work', () => {
  const handlers = ['--handlers', 'test/fixtures/handlers.ts']
  const job = 'mutation { createJob(input: { jobType: "count_up" }) { job { id } } }'

  it.each([
    ['does not run', () => node.kill(), () => startAgain(node)],
    ['hangs', () => node.freeze(), async () => node.thaw()],
  ])(
    'start while a node %s, serve the tenants of others, and take it in when it is back',
    async (_, stop, start) => {
      const created = await graphql<{ createJob: { job: { id: string } } }>(failing, job)
      const waiting = created.data?.createJob.job.id
      stop()
      let isBack = false
      onTestFinished(async () => {
        if (!isBack) await start()
      })
      const metrics = await freePort()
      const env = { DATABASE_URL: servers.coordinator.url }
      const [server, worker] = await Promise.all([
        startGateway({ ...env, METRICS_PORT: String(metrics) }, []),
        startCommand(['work', ...handlers], env, 'working'),
      ])
      onTestFinished(async () => {
        await Promise.all([server.stop('SIGKILL'), worker.stop('SIGKILL')])
      })
      for (const process of [server, worker])
        expect(process.output()).toContain('a node of the database does not answer')
      const post = async ({ key }: TestTenant, query: string) => {
        const headers = { 'x-api-key': key, 'content-type': 'application/json' }
        const body = JSON.stringify({ query })
        const response = await fetch(`${server.address}/graphql`, { method: 'POST', headers, body })
        return (await response.json()) as {
          data: Record<string, { job: { id: string; status: string } }>
          errors?: unknown
        }
      }
      const isUsable = async () => {
        const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
        return text.includes(`fusion_node_usable{node="${hostOf(node)}"} 1`)
      }
      const statusOf = async (tenant: TestTenant, id: string | undefined) => {
        const { data } = await post(tenant, `{ job(id: "${id}") { status } }`)
        return (data?.['job'] as unknown as { status: string } | null)?.status
      }
      expect(await isUsable()).toBe(false)
      expect(await post(failing, '{ users { nodes { id } } }')).toMatchObject({
        errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }],
      })
      const ofOther = (await post(other, job)).data['createJob']?.job.id
      await expect.poll(() => statusOf(other, ofOther), { timeout: 20_000 }).toBe('SUCCEEDED')

      await start()
      isBack = true
      await expect.poll(isUsable, { timeout: 20_000 }).toBe(true)
      await expect.poll(() => statusOf(failing, waiting), { timeout: 20_000 }).toBe('SUCCEEDED')
      expect(server.output()).toContain('a node of the database answers again')
    },
    120_000,
  )
})
