import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { createKey, revokeKey, rotateKey } from '../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { hasServer } from '../support/postgresql.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const newKey = (options: { scopes?: readonly string[]; expiresAt?: Date; pointsPerMinute?: number } = {}) =>
  createKey(app.database, { tenantAppId: tenant.tenantAppId, name: 'ci', ...options })

async function works(key: string): Promise<boolean> {
  return (await app.rest({ ...tenant, key }, 'GET', '/fusion/jobs/nobody')).statusCode === 404
}

it('both keys work during the grace, with the same scopes and rate limit; afterwards only the successor works', async () => {
  const old = await newKey({ scopes: ['jobs:read'], pointsPerMinute: 500 })
  const { row, key } = await rotateKey(app.database, old.row.id, 3_600_000)
  expect(row).toMatchObject({
    name: 'ci',
    scopes: ['jobs:read'],
    pointsPerMinute: 500,
    expiresAt: null,
    revokedAt: null,
  })
  expect(key).not.toBe(old.key)
  expect([await works(old.key), await works(key)]).toEqual([true, true])
  const { expiresAt } = await app.database.prisma.apiKey.findFirstOrThrow({ where: { id: old.row.id } })
  expect(Math.abs((expiresAt?.getTime() ?? 0) - Date.now() - 3_600_000)).toBeLessThan(60_000)
  await rotateKey(app.database, row.id, 0)
  expect([await works(old.key), await works(key)]).toEqual([true, false])
})

// The embedded database has the clock of the process.
it.skipIf(!hasServer).each([-1, 1])(
  'the grace is that of the database if the clock of this machine is %s h off',
  async (hours) => {
    const old = await newKey()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 })
    await rotateKey(app.database, old.row.id, 1_800_000)
    vi.useRealTimers()
    const { expiresAt } = await app.database.prisma.apiKey.findFirstOrThrow({ where: { id: old.row.id } })
    expect(Math.abs((expiresAt?.getTime() ?? 0) - Date.now() - 1_800_000)).toBeLessThan(60_000)
  },
)

it('the successor has the lifetime of the old key, and the grace does not extend the old key beyond its expiry', async () => {
  const day = 86_400_000
  const old = await newKey({ expiresAt: new Date(Date.now() + day) })
  const { row } = await rotateKey(app.database, old.row.id, 7 * day)
  expect(Math.abs((row.expiresAt?.getTime() ?? 0) - Date.now() - day)).toBeLessThan(60_000)
  const { expiresAt } = await app.database.prisma.apiKey.findFirstOrThrow({ where: { id: old.row.id } })
  expect(expiresAt).toEqual(old.row.expiresAt)
})

it('the successor of a key that expires in the last year of a calendar does so too', async () => {
  const last = new Date('9999-12-31T00:00:00Z')
  const { id } = (await newKey({ expiresAt: last })).row
  await app.database.prisma.apiKey.updateMany({ where: { id }, data: { createdAt: new Date('2020-01-01') } })
  expect((await rotateKey(app.database, id, 0)).row.expiresAt).toEqual(new Date('9999-12-31T23:59:59.999Z'))
})

it('a key is rotated at most once; its successor can be rotated in turn', async () => {
  const old = await newKey()
  const { row } = await rotateKey(app.database, old.row.id, 3_600_000)
  const before = await app.database.prisma.apiKey.count()
  await expect(rotateKey(app.database, old.row.id, 3_600_000)).rejects.toThrow('was rotated or revoked before')
  expect(await app.database.prisma.apiKey.count()).toBe(before)
  expect((await rotateKey(app.database, row.id, 0)).row.expiresAt).toBeNull()
})

it('a revoked key and a missing key cannot be rotated', async () => {
  const old = await newKey()
  await revokeKey(app.database, old.row.id)
  const before = await app.database.prisma.apiKey.count()
  await expect(rotateKey(app.database, old.row.id, 0)).rejects.toThrow('is no longer valid')
  await expect(rotateKey(app.database, 'key_none', 0)).rejects.toThrow('No key has the id key_none')
  expect(await app.database.prisma.apiKey.count()).toBe(before)
})
