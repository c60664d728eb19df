import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp

beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())

it('a live query is first read when the gateway hears announcements, so that it misses none', async () => {
  const tenant = await app.createTenant()
  const { id } = await factoriesFor(app, tenant).job()
  const { driver, prisma } = app.database
  const listen = driver.listen.bind(driver)
  const [asked, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  vi.spyOn(driver, 'listen').mockImplementation(async (...given) => {
    if (given[0] !== 'rows_changed') return listen(...given)
    asked.resolve()
    await allowed.promise
    return listen(...given)
  })
  const address = await addressOf(app)
  const following = subscribe(address, tenant.key, 'query @live { jobs { nodes { id } } }')
  await asked.promise
  await prisma.job.deleteMany({ where: { tenantAppId: tenant.tenantAppId, id } })
  allowed.resolve()
  const jobs = await following
  onTestFinished(jobs.close)
  expect(await jobs.next()).toMatchObject({ data: { data: { jobs: { nodes: [] } } } })
})
