import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { isDistributed, nodes } from '../support/postgresql.ts'
import { type Receiver, startDeliveriesOf, startReceiver, webhookClient } from '../support/webhooks.ts'
import { followFeed } from './load.ts'
import { createTenantOn } from './nodes.ts'

// Stops a node of Citus, so it needs one that no other test uses: TEST_CITUS_DATA is the folder of its data.

const data = process.env['TEST_CITUS_DATA'] ?? ''
const pidFile = path.join(data, 'postmaster.pid')

let app: TestApp
let failing: TestTenant
let other: TestTenant

beforeAll(async () => {
  if (!isDistributed || !data) return
  app = await startTestApp()
  // The fourth line of the file is the port.
  const port = readFileSync(pidFile, 'utf8').split('\n')[3]
  const isFailing = (node: string) => node.endsWith(`:${port}`)
  failing = await createTenantOn(app, nodes.find(isFailing) ?? '')
  other = await createTenantOn(app, nodes.find((node) => !isFailing(node)) ?? '')
})
afterAll(() => app?.close())

/** Runs `pg_ctl` as the user who owns the data. */
async function control(...args: string[]): Promise<void> {
  const programs = path.dirname(readFileSync(path.join(data, 'postmaster.opts'), 'utf8').split(' ')[0] ?? '')
  const command = [path.join(programs, 'pg_ctl'), '-w', '-s', '-D', data, '-l', path.join(data, 'log'), ...args]
  const [program, ...rest] = process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--', ...command] : command
  const child = spawn(program as string, rest, { stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`pg_ctl ${args.join(' ')} exited with ${code}`)
}

/** @param whileDown called when the node does not run */
async function kill(whileDown: () => Promise<void>): Promise<void> {
  await promisify(execFile)('kill', ['-9', String(readFileSync(pidFile, 'utf8').split('\n')[0])])
  await whileDown()
  await control('start')
}

interface Client {
  /** The ids of users that were created. */
  readonly created: string[]
  readonly errors: string[]
  readonly milliseconds: number[]
  stop(): Promise<void>
}

const mutation =
  'mutation { createUser(input: { name: "A", email: "a@example.com", phone: "1" }) { user { id } userErrors { code } } }'

/** Creates users of a tenant, one after the other. */
function startClient(tenant: TestTenant): Client {
  const client = { created: [] as string[], errors: [] as string[], milliseconds: [] as number[] }
  let isOver = false
  const send = async () => {
    while (!isOver) {
      const startedAt = performance.now()
      const { data: result, errors } = await app.graphql<{ createUser: { user: { id: string } } | null }>(
        tenant,
        mutation,
      )
      client.milliseconds.push(performance.now() - startedAt)
      if (result?.createUser) client.created.push(result.createUser.user.id)
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

const p99 = (values: readonly number[]) => values.toSorted((one, two) => one - two)[Math.floor(values.length * 0.99)]

async function receive(tenant: TestTenant): Promise<Receiver> {
  const receiver = await startReceiver()
  await webhookClient(app, tenant).create(receiver.url)
  return receiver
}

const idsIn = ({ messages }: Receiver) => messages.map(({ body }) => JSON.parse(body).data?.resourceId ?? body)

describe.skipIf(!isDistributed || !data)('a node that fails', () => {
  it.each([
    ['is restarted', () => control('restart', '-m', 'fast')],
    ['is killed, and started again', kill],
  ])('%s: its tenants get 503 and come back, and others notice nothing', async (_, fail) => {
    const tenants = [failing, other]
    const readers = await Promise.all(tenants.map((tenant) => followFeed(app, tenant)))
    const receivers = await Promise.all(tenants.map(receive))
    const stopDeliveries = startDeliveriesOf(app)
    const clients = tenants.map(startClient) as [Client, Client]
    onTestFinished(async () => {
      for (const client of clients) await client.stop()
      await stopDeliveries()
      for (const reader of readers) reader.stop()
      for (const receiver of receivers) await receiver.close()
    })
    await sleep(1_000)
    await fail(async () => {
      const before = readers[1]?.received.length ?? 0
      await expect.poll(() => readers[1]?.received.length, { timeout: 3_000 }).toBeGreaterThan(before + 10)
    })
    const after = clients[0].created.length
    await expect.poll(() => clients[0].created.length).toBeGreaterThan(after + 10)
    for (const client of clients) await client.stop()
    const [ofFailing, ofOther] = clients
    expect([...new Set(ofFailing.errors)]).toEqual(['SERVICE_UNAVAILABLE'])
    expect(ofOther.errors).toEqual([])
    expect(p99(ofOther.milliseconds)).toBeLessThan(500)
    for (const [index, { created }] of clients.entries()) {
      const { received, tenantAppId } = readers[index] as (typeof readers)[number]
      const log = await app.database.prisma.event.findMany({ where: { tenantAppId }, orderBy: { id: 'asc' } })
      await expect.poll(() => received.at(-1)).toBe(log.at(-1)?.id)
      const followed = log.slice(-received.length)
      expect(received).toEqual(followed.map(({ id }) => id))
      expect(followed.map(({ resourceId }) => resourceId)).toEqual(expect.arrayContaining(created))
      await expect.poll(() => created.filter((id) => !idsIn(receivers[index] as Receiver).includes(id))).toEqual([])
    }
  })
})
