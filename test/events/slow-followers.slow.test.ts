import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, type EventStream, settleEvents, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { settings } from '../support/settings.ts'
import { initSocket } from '../support/web-socket.ts'

const idleMilliseconds = 5_000
const payloadLength = 60_000
/** More than the buffers of both ends of a connection take. */
const jobs = 200

let app: TestApp
let tenant: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp({
    timeouts: { ...settings.timeouts, idleMilliseconds },
    heartbeatMilliseconds: 200,
    maxSubscriptionsPerKey: 1,
  })
  address = await addressOf(app)
})
afterAll(() => app.close())

const query = 'subscription ($after: ID) { events(after: $after) { id resourceId node { ... on Job { payload } } } }'

const follow = (after?: string) => subscribe(address, tenant.key, query, { after })

interface Event {
  readonly id: string
  readonly resourceId: string
}

/** Writes the events of jobs with long payloads, and returns the ids of the jobs. */
async function writeEvents(): Promise<string[]> {
  const ids = Array.from({ length: jobs }, (_, index) => `job_${String(index).padStart(3, '0')}`)
  const payload = { text: 'x'.repeat(payloadLength) }
  await app.database.prisma.job.createMany({
    data: ids.map((id) => ({ tenantAppId: tenant.tenantAppId, id, jobType: 'long', payload })),
  })
  await settleEvents(app)
  return ids
}

/** Reads events until the stream ends or is cut off, there is an error, or there are so many. */
async function readAll(stream: EventStream, count: number): Promise<Event[]> {
  const events: Event[] = []
  while (events.length < count) {
    const message = await stream.next().catch(() => undefined)
    const event = message?.data?.data?.['events'] as Event | undefined
    if (!event) break
    events.push(event)
  }
  return events
}

/** Waits until the key may have another subscription: until the only one has ended. */
async function waitForEnd(): Promise<void> {
  const readStatus = async () => {
    const another = await follow()
    another.close()
    return another.status
  }
  await expect.poll(readStatus, { timeout: 30_000 }).toBe(200)
}

const resourcesOf = (events: readonly Event[]) => events.map(({ resourceId }) => resourceId)

describe('a follower that does not read', () => {
  it('goes on without a gap when it reads again', async () => {
    tenant = await app.createTenant()
    const stream = await follow()
    const written = await writeEvents()
    expect(resourcesOf(await readAll(stream, jobs))).toEqual(written)
    stream.close()
  })

  it('is ended after the timeout of idle connections. When it reads again, an error says from which event to continue', async () => {
    tenant = await app.createTenant()
    const stream = await follow()
    const written = await writeEvents()
    await waitForEnd()
    const received: Event[] = []
    let message = await stream.next()
    for (; message?.data?.data; message = await stream.next()) received.push(message.data.data['events'] as Event)
    expect(received.length).toBeLessThan(jobs)
    const { id } = received.at(-1) ?? { id: '' }
    expect(message).toMatchObject({
      event: 'next',
      data: {
        errors: [
          {
            message: `The client read nothing for too long. Continue after ${id}.`,
            extensions: { code: 'REQUEST_TIMEOUT' },
          },
        ],
      },
    })
    expect(await stream.next()).toMatchObject({ event: 'complete' })
    await expect.poll(() => app.log.filter(({ limit }) => limit === 'unread_time').length).toBe(1)
    expect((await app.app.inject('/metrics')).body).toContain('fusion_refusals_total{limit="unread_time"} 1\n')
    const again = await follow(id)
    const others = await readAll(again, jobs - received.length)
    expect(resourcesOf([...received, ...others])).toEqual(written)
    again.close()
  })

  it('gets the same error over a WebSocket, before its connection ends', async () => {
    tenant = await app.createTenant()
    const { socket, send, next } = await initSocket(address, tenant.key)
    await writeEvents()
    const { data } = await app.graphql<{ events: { nodes: [Event] } }>(tenant, '{ events(first: 1) { nodes { id } } }')
    send({ type: 'subscribe', id: '1', payload: { query, variables: { after: data?.events.nodes[0].id } } })
    await next()
    socket.pause()
    await waitForEnd()
    socket.resume()
    const messages = [await next()]
    while (messages.at(-1)?.type === 'next') messages.push(await next())
    const [last, error, end] = messages.slice(-3)
    const received = last?.payload as { data: { events: Event } } | undefined
    const message = `The client read nothing for too long. Continue after ${received?.data.events.id}.`
    expect(end).toMatchObject({ type: 'complete' })
    expect(error).toMatchObject({ type: 'next', payload: { errors: [{ message }] } })
    expect(socket.readyState).toBe(socket.OPEN)
    socket.close()
  })

  it('is cut off after twice that time, and continues after the last event that it has', async () => {
    tenant = await app.createTenant()
    const stream = await follow()
    const written = await writeEvents()
    const isCutOff = (line: Record<string, unknown>) => line['cutOff'] === true && line['tenant'] === tenant.tenantAppId
    await expect.poll(() => app.log.some(isCutOff), { timeout: 30_000 }).toBe(true)
    const received = await readAll(stream, jobs)
    expect(received.length).toBeLessThan(jobs)
    const again = await follow(received.at(-1)?.id)
    const others = await readAll(again, jobs - received.length)
    expect(resourcesOf([...received, ...others])).toEqual(written)
    again.close()
  })
})

it('a live list that is not read causes reads only until the buffers of its connection are full', async () => {
  const patient = await app.startAnother({})
  tenant = await app.createTenant()
  const { tenantAppId, key } = tenant
  const make = factoriesFor(app, tenant)
  await make.profile(await make.account((await make.user()).id))
  const write = (letter: string) =>
    app.database.prisma.profile.updateMany({
      where: { tenantAppId },
      data: { description: letter.repeat(7_000_000) },
    })
  await write('a')
  const start = async (field: string) =>
    subscribe(await addressOf(patient), key, `subscription { searchProfiles { profiles { ${field} } } }`)
  const [list, clock] = [await start('description'), await start('updatedAt')]
  await clock.next()
  const changes = 'bcdef'
  const statements = await app.statementsOf(async () => {
    for (const letter of changes) {
      await write(letter)
      await clock.next()
    }
  })
  const reads = statements.filter((sql) => sql.includes('FROM "profile"') && sql.includes('"description"'))
  expect(reads.length).toBeLessThan(changes.length - 1)
  for (const stream of [list, clock]) stream.close()
  await patient.close()
})
