import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { addressOf, subscribe } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp

beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())

it('a live query shows a change that is announced before the gateway hears announcements', async () => {
  const tenant = await app.createTenant()
  const { id } = await factoriesFor(app, tenant).job()
  const { driver, prisma } = app.database
  const listen = driver.listen.bind(driver)
  const allowed = Promise.withResolvers<void>()
  vi.spyOn(driver, 'listen').mockImplementation(async (...given) => {
    if (given[0] === 'rows_changed') await allowed.promise
    return listen(...given)
  })
  const jobs = await subscribe(await addressOf(app), tenant.key, 'query @live { jobs { nodes { id } } }')
  expect(await jobs.next()).toMatchObject({ data: { data: { jobs: { nodes: [{ id }] } } } })
  onTestFinished(jobs.close)
  await prisma.job.deleteMany({ where: { tenantAppId: tenant.tenantAppId, id } })
  allowed.resolve()
  expect(await jobs.next()).toMatchObject({ data: { data: { jobs: { nodes: [] } } } })
}, 20_000)
