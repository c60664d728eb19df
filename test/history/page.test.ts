import { afterAll, beforeAll, expect, it } from 'vitest'
import { openDemo } from '../../src/domain/seed/seed.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { readBlocks } from '../support/docs.ts'
import { importText } from '../support/transfer.ts'

let app: TestApp
let demo: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  const key = (await openDemo(app.database, 'memory')) ?? ''
  const { id, name } = await app.database.prisma.tenantApp.findFirstOrThrow({ where: { name: 'Demo' } })
  demo = { tenantAppId: id, name, key, keyId: '' }
})
afterAll(() => app.close())

const blocks = readBlocks('docs/history.md')
const codesIn = (language: string) => blocks.filter((block) => block.language === language).map(({ code }) => code)

it('the records of docs/history.md are imported into the demo tenant, of which each profile has 13 weeks', async () => {
  const { prisma } = app.database
  const where = { tenantAppId: demo.tenantAppId }
  // The trigger writes the day of the synchronization.
  expect(await prisma.profileMetric.count({ where })).toBe((await prisma.profile.count({ where })) * 14)
  const tenant = await prisma.tenantApp.findFirstOrThrow({ where: { id: demo.tenantAppId } })
  const [records = ''] = codesIn('json')
  expect(await importText(app.database, tenant, records)).toMatchObject({ imported: 2, rejections: [] })
})

it('the queries and the request of docs/history.md return points and groups of the demo tenant', async () => {
  const [history = '', groups = ''] = codesIn('graphql')
  const read = await app.graphql<{ user: { accounts: { profile: { history: object[]; growth: number } }[] } }>(
    demo,
    history,
    { id: 'usr_demo_1' },
  )
  expect(read.errors).toBeUndefined()
  for (const { profile } of read.data.user.accounts) {
    expect(profile.history.length).toBeGreaterThan(5)
    expect(profile.growth).toEqual(expect.any(Number))
  }
  const grouped = await app.graphql<Record<string, { groups: object[] }>>(demo, groups)
  expect(grouped.errors).toBeUndefined()
  expect(Object.values(grouped.data).every((stats) => stats.groups.length > 0)).toBe(true)
  const [, path = ''] = /127\.0\.0\.1:4000(\S+)"/.exec(codesIn('sh')[0] ?? '') ?? []
  const response = await app.rest(demo, 'GET', path)
  expect(response.json<{ history: object[] }>().history.length).toBeGreaterThan(5)
})
