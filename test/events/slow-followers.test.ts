import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf, type EventStream, settleEvents, subscribe } from '../support/events.ts'
import { settings } from '../support/settings.ts'

const idleMilliseconds = 1_000
const payloadLength = 60_000
/** More than the buffers of both ends of a connection take. */
const jobs = 200

let app: TestApp
let tenant: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp({ timeouts: { ...settings.timeouts, idleMilliseconds } })
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

/** Reads events until the stream ends or is cut off, or there are so many. */
async function readAll(stream: EventStream, count: number): Promise<Event[]> {
  const events: Event[] = []
  while (events.length < count) {
    const event = await stream.next().catch(() => undefined)
    if (!event) break
    events.push(event.data?.data?.['events'] as Event)
  }
  return events
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

  it('is cut off after IDLE_TIMEOUT, and continues after the last event that it has', async () => {
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
