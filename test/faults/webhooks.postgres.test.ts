import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { startCommand } from '../support/cli.ts'
import { factoriesFor } from '../support/factories.ts'
import { startReceiver, webhookClient } from '../support/webhooks.ts'

const events = 30

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const startWorker = () =>
  startCommand(
    ['work'],
    {
      DATABASE_URL: app.database.url ?? '',
      SECRET_KEYS: app.webhookKey,
      FETCH_PRIVATE_NETWORKS: 'on',
      LOG_LEVEL: 'info',
    },
    'working',
  )

it('a worker that is killed between a delivery and its record loses none: another one delivers again', async () => {
  let isHeld = true
  const receiver = await startReceiver((response) => {
    // The endpoint has received the message, and the worker does not know.
    if (!isHeld) response.writeHead(204).end()
  })
  const client = webhookClient(app, tenant)
  const { id } = await client.create(receiver.url)
  for (let number = 1; number <= events; number += 1) await factoriesFor(app, tenant).user({ id: `usr_${number}` })
  const victim = await startWorker()
  await receiver.received(8)
  await victim.stop('SIGKILL')
  const before = receiver.messages.map(({ headers }) => headers['webhook-id'])
  expect(before).toHaveLength(8)
  isHeld = false
  const where = { tenantAppId: tenant.tenantAppId, status: 'RUNNING' }
  const { count } = await app.database.prisma.webhookDelivery.updateMany({
    where,
    data: { nextAttemptAt: new Date(0) },
  })
  expect(count).toBe(8)
  const other = await startWorker()
  await receiver.received(8 + events)
  const sent = receiver.messages.slice(8).map(({ headers }) => headers['webhook-id'])
  expect(new Set(sent).size).toBe(events)
  expect(sent).toEqual(expect.arrayContaining(before))
  const states = async () =>
    new Set((await client.deliveries(id)).map(({ status, attempts }) => `${status} ${attempts}`))
  await expect.poll(states, { timeout: 30_000 }).toEqual(new Set(['SUCCEEDED 1', 'SUCCEEDED 2']))
  expect(await other.stop()).toMatchObject({ code: 0 })
  await receiver.close()
})

it('a worker that is told to stop records the deliveries that it makes', async () => {
  const pending: (() => void)[] = []
  const receiver = await startReceiver((response) => void pending.push(() => response.writeHead(204).end()))
  const client = webhookClient(app, tenant)
  const { id } = await client.create(receiver.url)
  await factoriesFor(app, tenant).user()
  const worker = await startWorker()
  await receiver.received(1)
  const stopped = worker.stop()
  await expect.poll(worker.output).toContain('stopping')
  for (const respond of pending) respond()
  expect(await stopped).toMatchObject({ code: 0 })
  expect(await client.deliveries(id)).toMatchObject([{ status: 'SUCCEEDED', attempts: 1 }])
  await receiver.close()
})
