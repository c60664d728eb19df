import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TenantApp } from '@fusion-gateway/database'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedTenant } from '../../src/domain/seed/seed.ts'
import { createServices } from '../../src/domain/services.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { beginSnapshot, exportTenant } from '../../src/transfer/export.ts'
import { importFile } from '../../src/transfer/import.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { withNewSessions } from '../support/database.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { jobClient } from '../support/jobs.ts'
import { hasServer } from '../support/postgresql.ts'
import { settings } from '../support/settings.ts'
import { exportAll, importText } from '../support/transfer.ts'

let app: TestApp

beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())

const exporting = () => createServices(app.database, { ...settings, maxReadLength: Number.POSITIVE_INFINITY })
const silentLog = { error: () => undefined, warn: () => undefined }

/** The records of a tenant. The event after them differs between exports. */
const exportText = async (tenant: TenantApp) => (await exportAll(app.database, tenant)).text
const importInto = (tenant: TenantApp, text: string | Buffer) => importText(app.database, tenant, text)

let number = 0
function newTenant(): Promise<TenantApp> {
  number += 1
  return createTenant(app.database, `Transfer ${number}`)
}

/** Creates a tenant with all kinds of records, with and without their optional fields. */
async function createFullTenant(users: number): Promise<TenantApp> {
  const tenant = await newTenant()
  await withNewSessions(app.database, (database) => seedTenant(database, { tenantAppId: tenant.id, users, seed: 5 }))
  const asTestTenant = { tenantAppId: tenant.id, name: tenant.name, key: '', keyId: '' }
  await createOneOfEach(app, asTestTenant)
  const create = factoriesFor(app, asTestTenant)
  const metadata = { z: 'ü"', a: [null, { 1: 1.5 }] }
  await create.user({ id: 'ünusual "id"\n', name: 'Zoë 𝒜', phone: null, externalId: 'ext "1", 2', metadata })
  const { id } = await create.user()
  const account = await create.account(id, { status: 'EXPIRED', createdAt: new Date(0), updatedAt: new Date(1) })
  const unsupportedFields = ['a"b', 'c\\d', 'e,f\n', '']
  await create.profile(account, {
    unsupportedFields,
    createdAt: new Date(2),
    updatedAt: new Date(3),
    syncedAt: new Date(4),
  })
  const error = { code: 'TIMEOUT', message: 'Too "late"', attempt: 2, at: '2026-01-01T00:00:00.000Z' }
  await create.job({ error, progress: 0.1, progressMessage: 'p', startedAt: new Date(5), finishedAt: new Date(6) })
  await create.job({ status: 'RUNNING', jobType: null, payload: { z: null, a: ['\u2028', '\0'] }, attempts: 3 })
  return tenant
}

describe('export and import', () => {
  it('reproduce the same bytes through an empty tenant', async () => {
    const tenant = await createFullTenant(20)
    // More accounts than a request for profiles may name, and more users than a page has. Few have profiles.
    const time = { created_at: '2026-01-01T00:00:10Z', updated_at: '2026-01-01T00:00:10Z' }
    const user = { ...time, name: 'n', email: 'e@x', phone: null }
    const accounts = Array.from({ length: 480 }, (_, index) => {
      return { id: `many_${index}`, user_platform: 'X', platform_account_id: `many_${index}`, display_name: 'd' }
    })
    const more = Array.from({ length: 490 }, (_, index) => {
      return JSON.stringify({ ...user, id: `more_${index}`, accounts: index === 0 ? accounts : [] })
    })
    expect((await importInto(tenant, more.join('\n'))).imported).toBe(more.length)
    const first = await exportText(tenant)
    const where = { tenantAppId: tenant.id }
    const { user: users, profile: profiles } = app.database.prisma
    expect(first.match(/"accounts":/g)).toHaveLength(await users.count({ where }))
    expect(first.match(/"unsupported_fields":/g)).toHaveLength(await profiles.count({ where }))
    const copy = await newTenant()
    const { imported, rejections } = await importInto(copy, first)
    expect(rejections).toEqual([])
    expect(imported).toBe(first.trimEnd().split('\n').length)
    expect(await exportText(copy)).toBe(first)
  })

  it('change nothing when the import is repeated, not even the time of the last change', async () => {
    const first = await exportText(await createFullTenant(5))
    const copy = await newTenant()
    await importInto(copy, first)
    const all = { where: { tenantAppId: copy.id }, orderBy: { id: 'asc' as const } }
    const rows = async () => [
      await app.database.prisma.account.findMany(all),
      await app.database.prisma.profile.findMany(all),
    ]
    const before = await rows()
    expect((await importInto(copy, first)).rejections).toEqual([])
    expect(await rows()).toEqual(before)
    expect(await exportText(copy)).toBe(first)
  })

  it('exchange external ids, keep those that a record does not have, and refuse that of another user', async () => {
    const tenant = await newTenant()
    const time = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }
    const record = (id: string, given: object) =>
      JSON.stringify({ ...time, id, name: 'n', email: 'e@x', accounts: [], ...given })
    const rows = async () => {
      const users = await app.database.prisma.user.findMany({
        where: { tenantAppId: tenant.id },
        orderBy: { id: 'asc' },
      })
      return users.map(({ id, externalId, metadata }) => [id, externalId, metadata])
    }
    const metadata = { plan: 'pro' }
    const load = (...records: string[]) => importInto(tenant, records.join('\n'))
    await load(record('a', { external_id: '1', metadata }), record('b', { external_id: '2' }), record('c', {}))
    // As another service has them.
    expect((await load(record('a', {}), record('b', {}))).rejections).toEqual([])
    expect(await rows()).toEqual([
      ['a', '1', metadata],
      ['b', '2', null],
      ['c', null, null],
    ])
    await load(record('a', { external_id: '2', metadata: null }), record('b', { external_id: '1' }))
    expect(await rows()).toEqual([
      ['a', '2', null],
      ['b', '1', null],
      ['c', null, null],
    ])
    const { rejections } = await load(record('c', { external_id: '1' }), record('a', { external_id: null }))
    expect(rejections).toMatchObject([{ id: 'c', reason: 'the external id 1 belongs to the user b' }])
    expect(await rows()).toEqual([
      ['a', null, null],
      ['b', '1', null],
      ['c', null, null],
    ])
  })

  it('complete an interrupted import when it runs again', async () => {
    const first = await exportText(await createFullTenant(8))
    const copy = await newTenant()
    async function* broken() {
      yield Buffer.from(first.slice(0, Math.floor(first.length / 2)))
      await nextTurn()
      throw new Error('the pipe broke')
    }
    const file = { name: 'file', chunks: broken() }
    const options = { tenantAppId: copy.id, onReject: () => undefined }
    const interrupted = withNewSessions(app.database, (database) => importFile(database, file, options))
    await expect(interrupted).rejects.toThrow('the pipe broke')
    expect(await app.database.prisma.user.count({ where: { tenantAppId: copy.id } })).toBeGreaterThan(0)
    expect((await importInto(copy, first)).rejections).toEqual([])
    expect(await exportText(copy)).toBe(first)
  })

  it('update an existing record to the values of the file', async () => {
    const tenant = await createFullTenant(2)
    const text = await exportText(tenant)
    const [line = ''] = text.split('\n')
    const changed = line.replace(/"name":"[^"]*"/, '"name":"Changed"')
    await importInto(tenant, changed)
    expect(await exportText(tenant)).toBe(text.replace(line, changed))
  })

  it('reject a changed record of a job that exists and was not imported', async () => {
    const tenant = await app.createTenant()
    const created = await jobClient(app, tenant)('createJob', { jobType: 'here', payload: { b: 1, a: ['x'] } })
    const original = await app.database.prisma.tenantApp.findFirstOrThrow({ where: { id: tenant.tenantAppId } })
    const text = await exportText(original)
    expect((await importInto(original, text)).rejections).toEqual([])
    const { rejections } = await importInto(original, text.replace('"pending"', '"succeeded"'))
    expect(rejections).toMatchObject([{ reason: `the job ${created.job?.id} exists and was not imported` }])
    expect(await exportText(original)).toBe(text)
  })

  it('accept whole responses of the REST API', async () => {
    const source = await app.createTenant()
    const { account } = await createOneOfEach(app, source)
    const users = await app.rest(source, 'GET', '/users')
    const profiles = await app.rest(source, 'GET', '/fusion/profiles', [account.id])
    const copy = await newTenant()
    const { imported, rejections } = await importInto(copy, `${users.body}\n${profiles.body}`)
    expect({ imported, rejections }).toEqual({ imported: 2, rejections: [] })
    const original = await app.database.prisma.tenantApp.findFirstOrThrow({ where: { id: source.tenantAppId } })
    // Times of accounts and profiles, which an export has, are not in these responses.
    const shown = async (tenant: TenantApp) =>
      (await exportText(tenant))
        .split('\n')
        .filter((line) => !line.includes('"job_type"'))
        .map((line) =>
          line.replace(/("accounts"|"unsupported_fields").*/, (rest) => rest.replace(/"\w+_at":"[^"]*"/g, '')),
        )
    expect(await shown(copy)).toEqual(await shown(original))
  })
})

describe('an import', () => {
  const time = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }
  const account = { id: 'a1', user_platform: 'X', platform_account_id: 'x1', display_name: 'd' }
  const user = { id: 'u1', ...time, name: 'n', email: 'e@x', phone: null, accounts: [account] }
  const profile = { id: 'p1', user_platform: 'X', platform_account_id: 'x1', emails: [] }

  it('reports invalid lines with their number and reason, and imports the other lines', async () => {
    const tenant = await newTenant()
    const other = { ...user, id: 'u2', accounts: [] }
    const lines: [unknown, string | RegExp | null][] = [
      [user, null],
      ['{"id":', 'is not JSON'],
      [[user], 'is not a JSON object'],
      [{ id: 'x' }, 'is not a known record. Missing: accounts (user); user_platform (profile); status (job)'],
      [account, /^is not a known record. Missing: accounts \(user\); emails, phone_numbers, .* \(profile\)$/],
      [{ ...account, status: 'connected' }, /\(profile\)$/],
      [{ ...user, id: '', name: ' ' }, 'id: must be an id of 1 to 128 characters; name: must not be blank'],
      [{ ...user, created_at: 'yesterday' }, 'created_at: must be a time, such as 2026-01-31T08:00:00Z'],
      [{ ...other, accounts: [{ ...account, user_platform: 'x' }] }, 'accounts.0.user_platform: must be upper case'],
      [{ ...other, accounts: [account] }, 'the account a1 belongs to another user'],
      [
        { ...other, accounts: [{ ...account, id: 'a2' }] },
        'another record has the same platform account, external id or id',
      ],
      [
        { ...user, accounts: [{ ...account, platform_account_id: 'x2' }] },
        'the account a1 has another platform or platform account id',
      ],
      [other, null],
      [profile, null],
      [{ ...profile, id: 'p2' }, 'its account already has the profile p1'],
      [{ ...profile, platform_account_id: 'x9' }, 'there is no account X x9'],
      [{ ...profile, account_id: 'a9' }, 'the account a9 is not X x1'],
      [{ ...profile, date_of_birth: '1990:02:30' }, 'date_of_birth: must be a date that exists'],
      [{ ...profile, followers_count: -1, url: 'x' }, 'url: must be an absolute http or https URL; followers_count'],
      [{ id: 'j1', status: 'done', attempts: 0 }, 'status: must be one of pending'],
      [{ id: 'j1', status: 'pending', attempts: 0 }, null],
      [{ id: 'j2', status: 'pending' }, null],
    ]
    const text = lines.map(([line]) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
    const { imported, rejections } = await importInto(tenant, text)
    const expected = lines.flatMap(([, reason], index) => (reason === null ? [] : [[index + 1, reason]]))
    // An unreadable line is reported at once. A line that cannot be written is reported with its batch.
    const sorted = [...rejections].sort((one, other) => one.line - other.line)
    expect(sorted.map(({ line, reason }) => [line, reason])).toEqual(
      expected.map(([line, reason]) => [
        line,
        reason instanceof RegExp ? expect.stringMatching(reason) : expect.stringContaining(String(reason)),
      ]),
    )
    expect(imported).toBe(lines.length - expected.length)
    const { prisma } = app.database
    const where = { tenantAppId: tenant.id }
    expect([await prisma.user.count({ where }), await prisma.account.count({ where })]).toEqual([2, 1])
  })

  it('rejects lines that are not UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xff]), Buffer.from('","accounts":[]}\n')])
    expect((await importInto(await newTenant(), bytes)).rejections).toMatchObject([{ line: 1, reason: 'is not UTF-8' }])
  })

  it('can use ids that another tenant has, and does not change that tenant', async () => {
    const [one, two] = [await newTenant(), await newTenant()]
    const text = `${JSON.stringify(user)}\n${JSON.stringify(profile)}\n`
    await importInto(one, text)
    const before = await exportText(one)
    const changed = text.replaceAll('"name":"n"', '"name":"other"')
    expect((await importInto(two, changed)).rejections).toEqual([])
    expect(await exportText(one)).toBe(before)
    expect(await exportText(two)).toContain('other')
  })
})

it.skipIf(!hasServer)('an export is of one moment, whatever is written meanwhile', async () => {
  const { id: tenantAppId } = await newTenant()
  await withNewSessions(app.database, (database) => seedTenant(database, { tenantAppId, users: 600, seed: 1 }))
  const tenant = await app.database.prisma.tenantApp.findFirstOrThrow({ where: { id: tenantAppId } })
  const exported = await app.database.sql.transact(async (sql) => {
    await beginSnapshot(sql)
    const services = { ...exporting(), database: { ...app.database, sql } }
    let users = 0
    for await (const record of exportTenant(services, tenant, silentLog)) {
      if ('accounts' in record) users += 1
      if (users === 1) await app.database.prisma.user.deleteMany({ where: { tenantAppId } })
    }
    return users
  })
  expect(exported).toBe(600)
  expect(await app.database.prisma.user.count({ where: { tenantAppId } })).toBe(0)
})
