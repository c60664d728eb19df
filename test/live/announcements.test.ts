import { GatewayError } from '@fusion-gateway/base'
import { type RateLimit, unlimited } from '@fusion-gateway/limits'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp

beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())

/** Lets the test decide when the gateway hears announcements, or why it cannot. */
function holdAnnouncements() {
  const { driver } = app.database
  const listen = driver.listen.bind(driver)
  const [asked, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const held = vi.spyOn(driver, 'listen').mockImplementation(async (...given) => {
    if (given[0] !== 'rows_changed') return listen(...given)
    asked.resolve()
    await allowed.promise
    return listen(...given)
  })
  onTestFinished(() => held.mockRestore())
  return { asked: asked.promise, allow: allowed.resolve, refuse: allowed.reject }
}

it('a live query is first read when the gateway hears announcements, so that it misses none', async () => {
  const tenant = await app.createTenant()
  const { id } = await factoriesFor(app, tenant).job()
  const { prisma } = app.database
  const { asked, allow } = holdAnnouncements()
  const address = await addressOf(app)
  const following = subscribe(address, tenant.key, 'query @live { jobs { nodes { id } } }')
  await asked
  // A live query that did not wait would be read by now.
  for (let times = 0; times < 3; times += 1) await app.graphql(tenant, '{ jobs { nodes { id } } }')
  await prisma.job.deleteMany({ where: { tenantAppId: tenant.tenantAppId, id } })
  allow()
  const jobs = await following
  onTestFinished(jobs.close)
  expect(await jobs.next()).toMatchObject({ data: { data: { jobs: { nodes: [] } } } })
})

it('a client that is refused before announcements are heard does not mind that they cannot be', async () => {
  const tenant = await app.createTenant()
  const { asked, refuse } = holdAnnouncements()
  const rateLimit: RateLimit = {
    ...unlimited,
    // The points of the body.
    async spend(_, points) {
      if (points === 0) return undefined
      await asked
      throw new GatewayError('RATE_LIMITED', 'Empty.', { headers: { 'retry-after': '1' } })
    },
  }
  const limited = await app.startAnother({ rateLimit })
  const refused = await subscribe(
    await addressOf(limited),
    tenant.key,
    `query @live { jobs { nodes { id } } } #${' '.repeat(1_024)}`,
  )
  expect(refused.status).toBe(429)
  refuse(new Error('The connection is lost'))
  await limited.close()
})
