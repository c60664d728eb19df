import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { removeOldUsage, startUsageWriter } from '../../src/domain/usage/write-usage.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { openSocket } from '../support/web-socket.ts'

const silentLog = { error: () => undefined, warn: () => undefined }

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const rows = () => app.database.prisma.operationUsage.findMany({ where: { tenantAppId: tenant.tenantAppId } })

it('usage is written at intervals, and kept while the database cannot be reached', async () => {
  const { sql } = app.database
  const warned = Promise.withResolvers<unknown>()
  const log = { ...silentLog, warn: (...line: unknown[]) => warned.resolve(line) }
  let isDown = true
  const query: typeof sql.query = (...sent) => (isDown ? Promise.reject(new Error('down')) : sql.query(...sent))
  const failing: object = { query, transact: sql.transact.bind(sql), nodeOf: () => undefined, of: () => failing }
  const database = { ...app.database, sql: failing } as never
  const stop = startUsageWriter({ ...app.services, database }, { log, intervalMilliseconds: 5 })
  await app.graphql(tenant, 'query Kept { users { nodes { id } } }')
  expect(await warned.promise).toMatchObject([{ err: { message: 'down' } }, expect.stringContaining('tried again')])
  expect(await rows()).toEqual([])
  await app.graphql(tenant, 'query Kept { users { nodes { id } } }')
  isDown = false
  await expect.poll(rows, { timeout: 20_000 }).toMatchObject([{ operationName: 'Kept', requests: 2n, points: 2n }])
  await app.graphql(tenant, 'query Kept { users { nodes { id } } }')
  await stop()
  expect(await rows()).toMatchObject([{ requests: 3n }])
})

it('operations of a WebSocket are counted for the client that connection_init names', async () => {
  const client = await openSocket(await addressOf(app), { headers: { 'graphql-client-version': '7' } })
  client.send({
    type: 'connection_init',
    payload: { 'x-api-key': tenant.key, 'GraphQL-Client-Name': 'socket', more: 1 },
  })
  expect(await client.next()).toMatchObject({ type: 'connection_ack' })
  client.send({ type: 'subscribe', id: '1', payload: { query: 'query Socket { users { nodes { id } } }' } })
  expect(await client.next()).toMatchObject({ type: 'next' })
  client.socket.close()
  await once(client.socket, 'close')
  await startUsageWriter(app.services, { log: silentLog })()
  expect(await rows()).toContainEqual(
    expect.objectContaining({ operationName: 'Socket', clientName: 'socket', clientVersion: '7', requests: 1n }),
  )
})

it('the points of the events of a subscription are counted', async () => {
  const headers = { 'x-api-key': tenant.key, accept: 'text/event-stream' }
  const query = 'subscription Follow { jobs(first: 1) { id } }'
  const stream = await app.app.inject({ url: '/graphql', query: { query }, headers, payloadAsStream: true })
  const events = stream.stream()[Symbol.asyncIterator]()
  for (const _ of [1, 2]) {
    await app.graphql(tenant, 'mutation { createJob(input: { jobType: "t" }) { job { id } } }')
    for (let text = ''; !text.includes('"id"'); ) {
      const { done, value } = await events.next()
      if (done) throw new Error('The stream has ended')
      text = String(value)
    }
  }
  stream.stream().destroy()
  await startUsageWriter(app.services, { log: silentLog })()
  const [follow] = (await rows()).filter(({ operationName }) => operationName === 'Follow')
  expect(follow).toMatchObject({ requests: 1n, errors: 0n })
  expect(Number(follow?.points)).toBeGreaterThanOrEqual(2)
})

it('usage of days that are too old is removed, in batches', async () => {
  await app.database.prisma.$executeRaw`
    INSERT INTO field_usage SELECT ${tenant.tenantAppId}, 'use_old' || n, (now() AT TIME ZONE 'UTC')::date - n, 'User.id', 1, now()
    FROM generate_series(1, 700) AS n`
  const statements = await app.statementsOf(() => removeOldUsage(app.database, 90))
  // 610 rows of one tenant are two batches. Other tests of the file may still write usage.
  expect(statements.filter((sql) => sql.includes('DELETE'))).toHaveLength(2)
  const left = await app.database.prisma.fieldUsage.findMany({ where: { id: { startsWith: 'use_old' } } })
  expect(left).toHaveLength(90)
  expect(await rows()).not.toEqual([])
})
