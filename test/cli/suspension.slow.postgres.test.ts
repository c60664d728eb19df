import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { fusion, startCommand, startGateway } from '../support/cli.ts'
import { createCommandDatabase } from '../support/command-database.ts'
import { subscribe } from '../support/events.ts'
import { locationOf } from '../support/settings.ts'
import { initSocket } from '../support/web-socket.ts'
import { startReceiver } from '../support/webhooks.ts'

const handlers = path.resolve(import.meta.dirname, '../fixtures/held-handler.ts')

it('tenants suspend returns when a gateway and a worker, with their caches, have stopped the tenant', async () => {
  const { env: location, remove } = await createCommandDatabase()
  const secrets = { SECRET_KEYS: randomBytes(32).toString('base64'), FETCH_PRIVATE_NETWORKS: 'on', DRAIN_DELAY: '0' }
  const env = { ...location, ...secrets }
  await fusion(['tenants', 'create', 'Acme'], env)
  const key = (await fusion(['keys', 'create', '--tenant', 'Acme'], env)).stdout.trim()
  const [gateway, worker] = await Promise.all([
    startGateway(env),
    startCommand(['work', '--handlers', handlers], env, 'working'),
  ])
  const database = await openDatabase(locationOf(location['DATABASE_URL'] ?? ''))
  const receiver = await startReceiver()
  const send = async (query: string) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const response = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query }),
    })
    return { status: response.status, body: JSON.stringify(await response.json()) }
  }
  const createUser = () =>
    send('mutation { createUser(input: { name: "Ada", email: "ada@example.com", phone: "1" }) { user { id } } }')

  await send(
    `mutation { createWebhook(input: { url: "${receiver.url}", eventTypes: [USER_CREATED] }) { webhook { id } } }`,
  )
  await createUser()
  await receiver.received(1)
  const socket = await initSocket(gateway.address, key)
  const stream = await subscribe(gateway.address, key, 'subscription { jobs(first: 1) { status } }')
  await send('mutation { createJob(input: { jobType: "hold", maxAttempts: 1 }) { job { id } } }')
  for (let event = await stream.next(); !JSON.stringify(event).includes('RUNNING'); ) event = await stream.next()

  const [suspended, closed] = await Promise.all([fusion(['tenants', 'suspend', 'Acme'], env), socket.closed])
  expect(suspended).toMatchObject({ code: 0, stdout: 'Suspended Acme.\n' })
  expect(closed).toMatchObject({ code: 4403, reason: expect.stringContaining('suspended') })
  let last: Awaited<ReturnType<typeof stream.next>>
  for (let next = await stream.next(); next; next = await stream.next()) if (next.data) last = next
  expect(last?.data?.errors).toMatchObject([{ extensions: { code: 'TENANT_SUSPENDED' } }])
  expect(await createUser()).toMatchObject({ status: 403, body: expect.stringContaining('TENANT_SUSPENDED') })
  expect(await database.prisma.job.findFirst()).toMatchObject({ status: 'PENDING', attempts: 0, leaseToken: null })

  // An import writes meanwhile. Its event and the job wait for the resumption.
  await database.prisma.user.create({
    data: {
      tenantAppId: (await database.prisma.tenantApp.findFirstOrThrow()).id,
      id: 'usr_meanwhile',
      name: 'Ada',
      email: 'ada@example.com',
    },
  })
  await fusion(['tenants', 'resume', 'Acme'], env)
  const messages = await receiver.received(2)
  expect(JSON.parse(messages[1]?.body ?? '{}').data).toMatchObject({ resourceId: 'usr_meanwhile' })
  await expect.poll(() => database.prisma.job.findFirst()).toMatchObject({ status: 'RUNNING', attempts: 1 })
  await expect.poll(async () => (await createUser()).status).toBe(200)

  await Promise.all([gateway.stop(), worker.stop()])
  await receiver.close()
  await database.close()
  await remove()
})
