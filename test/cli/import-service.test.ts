import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TenantApp } from '@fusion-gateway/database'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { fusionOn } from '../support/command-database.ts'
import { addressOf } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { type OldRecord, type OldServiceOptions, send, startOldService } from '../support/old-service.ts'
import { exportAll } from '../support/transfer.ts'

let app: TestApp
let folder: string

beforeAll(async () => {
  app = await startTestApp()
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-from-'))
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

let number = 0
function newTenant(): Promise<TenantApp> {
  number += 1
  return createTenant(app.database, `From ${number}`)
}

const time = '2024-01-01T00:00:00.000Z'

const userOf = (id: string, ...platforms: string[]): OldRecord => ({
  id: `u${id}`,
  created_at: time,
  updated_at: '2024-02-01T00:00:00.000Z',
  name: `User ${id}`,
  email: `user${id}@example.com`,
  phone: '1',
  tenant_app_id: 'old',
  accounts: platforms.map((platform) => ({
    id: `a${id}_${platform}`,
    user_platform: platform,
    platform_account_id: `${platform}_${id}`,
    display_name: 'd',
  })),
})

/** The profile of an account: `a1_X` ⇒ that of the account X_1 of the platform X. */
function profileOf(accountId: string, changes: OldRecord = {}): OldRecord {
  const [, id = '', platform = ''] = /^a(.*)_(.*)$/.exec(accountId) ?? []
  return {
    id: `p${id}_${platform}`,
    user_platform: platform,
    platform_account_id: `${platform}_${id}`,
    username: `name ${id}`,
    followers_count: 5,
    emails: [],
    ...changes,
  }
}

interface Ended {
  readonly code: number
  readonly stderr: string
  readonly refused: { readonly id?: string; readonly reason: string }[]
  readonly counts: Record<string, readonly [old: number, gateway: number]>
}

/** Imports from a service, and reads what the command has printed. */
async function importFrom(url: string, tenant: TenantApp, ...options: string[]): Promise<Ended> {
  const args = ['import', '--tenant', tenant.name, '--from', url, '--rate', '1000', ...options]
  const { code, stdout, stderr } = await fusionOn(app.database, args, { env: { OLD_API_KEY: 'old-secret' } })
  expect(stdout + stderr).not.toContain('old-secret')
  const lines = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  return {
    code,
    stderr,
    refused: lines.flatMap(({ refused }) => refused ?? []),
    counts: Object.fromEntries(
      lines.flatMap(({ resource, old, gateway }) => (resource ? [[resource, [old, gateway]]] : [])),
    ),
  }
}

/** Imports from a small server of the interface into a new tenant. */
async function importInto(options: OldServiceOptions, ...further: string[]) {
  const tenant = await newTenant()
  const old = await startOldService({ key: 'old-secret', profileOf, ...options })
  try {
    return { tenant, old, ended: await importFrom(old.url, tenant, ...further) }
  } finally {
    await old.close()
  }
}

const exported = async (tenant: TenantApp) => (await exportAll(app.database, tenant)).text
const profilesOf = (tenant: TenantApp) => app.database.prisma.profile.findMany({ where: { tenantAppId: tenant.id } })

describe('an import from another gateway', () => {
  it('has the same users, profiles, emails and jobs, and writes nothing when it is repeated', async () => {
    const source = await app.createTenant()
    for (let count = 0; count < 3; count += 1) await createOneOfEach(app, source)
    const { job } = await createOneOfEach(app, source)
    const { id: userId } = await factoriesFor(app, source).user({ phone: null, name: 'Zoë "𝒜"\n' })
    await factoriesFor(app, source).account(userId)
    const jobs = path.join(folder, 'jobs')
    writeFileSync(jobs, `${job.id}\n\n${job.id}\njob_unknown\n`)
    const tenant = await newTenant()
    const args = [
      'import',
      '--tenant',
      tenant.name,
      '--from',
      await addressOf(app),
      '--key',
      source.key,
      '--jobs',
      jobs,
    ]
    const first = await fusionOn(app.database, args)
    expect(
      first.stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    ).toEqual([
      {
        refused: { file: 'GET /fusion/jobs', id: 'job_unknown', reason: 'GET /fusion/jobs/job_unknown responded 404' },
      },
      { resource: 'user', old: 5, gateway: 5 },
      { resource: 'account', old: 5, gateway: 5 },
      { resource: 'profile', old: 4, gateway: 4 },
      { resource: 'email record', old: 4, gateway: 4 },
      { resource: 'job', old: 2, gateway: 1 },
    ])
    expect([first.code, first.stderr]).toEqual([1, 'Wrote 19 rows, refused 1 records.\n'])
    const rest = async (path: string, key: string) =>
      (await app.app.inject({ url: path, headers: { 'x-api-key': key } })).json()
    const { key } = await app.createTenant()
    expect(await rest('/users', key)).toEqual({ users: [] })
    const ofTenant = (text: string) => text.replace(/,?"(tenant_app_id|synced_at|created_at|updated_at)":"[^"]*"/g, '')
    const source1 = { id: source.tenantAppId, name: source.name } as TenantApp
    const jobsLeftOut = (text: string) => ofTenant(text).replace(/^\{"id":"job_.*\n/gm, '')
    expect(jobsLeftOut(await exported(tenant))).toBe(jobsLeftOut(await exported(source1)))
    const before = await exported(tenant)
    const second = await fusionOn(app.database, args)
    expect(second.stderr).toBe('Wrote 0 rows, refused 1 records.\n')
    expect(await exported(tenant)).toBe(before)
    expect(first.stdout + first.stderr).not.toContain(source.key)
  })
})

describe('an import from a service of the interface document reads', () => {
  const users = () => Array.from({ length: 130 }, (_, index) => userOf(String(index), 'X', 'Y'))

  it.each(['body', 'query'] as const)('profiles by the %s, in groups', async (profilesBy) => {
    const { tenant, old, ended } = await importInto({ users, profilesBy })
    expect(ended).toMatchObject({
      code: 0,
      refused: [],
      counts: { user: [130, 130], account: [260, 260], profile: [260, 260], job: [0, 0] },
    })
    expect(await profilesOf(tenant)).toHaveLength(260)
    const groups = old.requests.filter(({ url }) => url.startsWith('/fusion/profiles'))
    expect(groups.length).toBeLessThan(10)
    expect(groups.every(({ url }) => url.length < 6_100)).toBe(true)
  })

  it('null and absent fields', async () => {
    const lean = { ...userOf('1', 'X'), phone: null }
    const leaner = { ...userOf('2', 'X'), phone: undefined, accounts: undefined }
    const { emails: __, ...profile } = profileOf('a1_X')
    const nulls = { ...profile, username: null, emails: null, phone_numbers: null, gender: null, joined_at: null }
    const { tenant, ended } = await importInto({ users: () => [lean, leaner], profileOf: () => nulls })
    expect(ended).toMatchObject({ code: 0, counts: { user: [2, 2], account: [1, 1], profile: [1, 1] } })
    expect(await exported(tenant)).toContain('"phone":null')
  })

  it('times in several forms, and cuts what the database does not store', async () => {
    const forms = ['2024-01-01T00:00:00Z', '2024-01-01T05:30:00.000+0530', '2024-01-01 00:00:00+00', '20240101T000000Z']
    const of = (id: string, created_at: string) => ({ ...userOf(id), created_at })
    const list = [...forms.map((form, index) => of(String(index), form)), of('micro', '2024-01-01T00:00:00.123456Z')]
    const { tenant, ended } = await importInto({ users: () => [...list, of('bad', 'yesterday')] })
    expect(ended.stderr).toBe('Wrote 5 rows, refused 1 records. 1 times were cut to milliseconds.\n')
    expect(ended.refused).toMatchObject([
      { list: 'users', index: 5, id: 'ubad', reason: expect.stringMatching(/^created_at: /) },
    ])
    const rows = await app.database.prisma.user.findMany({ where: { tenantAppId: tenant.id }, orderBy: { id: 'asc' } })
    expect(rows.map(({ createdAt }) => createdAt.toISOString())).toEqual([
      ...forms.map(() => time),
      '2024-01-01T00:00:00.123Z',
    ])
  })

  it('a response with new lines, and ids of any characters', async () => {
    const id = 'a&b "c"/ü'
    const account = { id, user_platform: 'X', platform_account_id: 'X_1', display_name: 'd' }
    const user = { ...userOf('1'), accounts: [account] }
    const jobs = path.join(folder, 'strange')
    writeFileSync(jobs, `${id}\n`)
    const job = { id, status: 'pending', job_type: 'fetch_content', payload: { url: 'https://example.com\n' } }
    const options: OldServiceOptions = {
      profilesBy: 'query',
      profileOf: (given) => (given === id ? profileOf('a1_X', { id }) : undefined),
      jobs: { [id]: job },
      instead(request, response) {
        if (request.url !== '/users') return false
        response.end(JSON.stringify({ users: [user] }, null, 2))
        return true
      },
    }
    const { ended } = await importInto(options, '--jobs', jobs)
    expect(ended).toMatchObject({ code: 0, counts: { user: [1, 1], profile: [1, 1], job: [1, 1] } })
  })
})

describe('an import from a service that fails at times', () => {
  const users = () => Array.from({ length: 120 }, (_, index) => userOf(String(index), 'X'))

  it('sends requests again: after 429 as Retry-After says, after 5xx, and when a connection breaks off', async () => {
    const { old, ended } = await importInto({
      users,
      instead(request, response, count) {
        if (count % 2 === 0) return false
        if (count === 1) send(response, 429, {}, { 'retry-after': '0' })
        else if (count === 3) send(response, 503, {})
        else if (count === 5) request.socket.destroy()
        else return false
        return true
      },
    })
    expect(ended).toMatchObject({ code: 0, counts: { user: [120, 120], profile: [120, 120] } })
    expect(ended.stderr).toContain('GET /users: it responded 429. Trying again in 0 s.\n')
    expect(ended.stderr).toContain('GET /fusion/profiles: it responded 503. Trying again in 0.25 s.\n')
    expect(old.requests.length).toBeGreaterThanOrEqual(6)
  })

  it('receives the users again from the start when the response breaks off', async () => {
    const { ended } = await importInto({
      users,
      instead(request, response, count) {
        if (request.url !== '/users' || count > 1) return false
        response.writeHead(200, { 'content-length': 100_000 })
        response.write(`{"users":[${JSON.stringify(userOf('broken'))},`, () => response.destroy())
        return true
      },
    })
    expect(ended).toMatchObject({ code: 0, refused: [], counts: { user: [120, 120] } })
  })

  it('ends with what failed, and completes when it runs again', async () => {
    const tenant = await newTenant()
    let isDown = true
    const old = await startOldService({
      profileOf,
      users,
      instead(request, response) {
        if (!isDown || request.url === '/users') return false
        send(response, 429, {}, { 'retry-after': '86400' })
        return true
      },
    })
    const first = await importFrom(old.url, tenant)
    expect(first).toMatchObject({ code: 1, counts: {} })
    expect(first.stderr).toBe('The old service asks to wait 86400 s. Run the import again then.\n')
    isDown = false
    expect(await importFrom(old.url, tenant)).toMatchObject({
      code: 0,
      stderr: 'Wrote 120 rows, refused 0 records.\n',
      counts: { user: [120, 120], profile: [120, 120] },
    })
    await old.close()
  })

  it('sends no more requests per second than --rate', async () => {
    const times: number[] = []
    const instead = () => {
      times.push(performance.now())
      return false
    }
    const jobs = path.join(folder, 'few')
    writeFileSync(jobs, 'job_1\njob_2\njob_3\n')
    await importInto({ users: () => [userOf('1', 'X')], instead }, '--rate', '10', '--jobs', jobs)
    expect(times).toHaveLength(5)
    // Between those of jobs, nothing is written. Two steps take 200 ms, of which a delay of the first may be a part.
    expect((times.at(-1) ?? 0) - (times.at(-3) ?? 0)).toBeGreaterThan(120)
  })

  it('says that the key is refused, or the service cannot be reached', async () => {
    const { ended } = await importInto({ users, key: 'another' })
    expect([ended.code, ended.stderr]).toEqual([1, 'The old service refuses the key: GET /users responded 401.\n'])
    const without = await fusionOn(app.database, ['import', '--tenant', 'x', '--from', 'http://127.0.0.1:1'])
    expect(without).toMatchObject({
      code: 1,
      stderr: 'Set OLD_API_KEY to the key of the old service, or give --key.\n',
    })
    for (const [args, message] of [
      [['--from', 'http://127.0.0.1:1', 'a.ndjson'], 'give files or --from <url>, not both'],
      [['--dry-run', 'a.ndjson'], "option '--dry-run' needs --from <url>"],
      [[], 'say what to import: files, or --from <url>'],
    ] as const) {
      const { code, stderr } = await fusionOn(app.database, ['import', '--tenant', 'x', ...args])
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
    }
  })
})

describe('what an import refuses', () => {
  const good = userOf('1', 'X', 'Y')
  const options: OldServiceOptions = {
    users: () => [good, { ...userOf('2'), name: ' ' }, { ...userOf('3'), accounts: 5 }],
    profileOf: (id) => profileOf(id, id === 'a1_Y' ? { followers_count: -1 } : {}),
    instead(request, response) {
      // It takes one id at a time, and refuses one of them.
      const isGroup = request.url?.startsWith('/fusion/profiles') && Number(request.headers['content-length']) > 8
      if (isGroup) send(response, 413, {})
      return isGroup === true
    },
  }

  it('is printed with the reason and without values, and written to a file with them', async () => {
    const rejects = path.join(folder, 'rejects')
    const { ended } = await importInto(options, '--rejects', rejects)
    expect(ended.code).toBe(1)
    expect(ended.refused).toEqual([
      { file: 'GET /users', line: 1, list: 'users', index: 1, id: 'u2', reason: 'name: must not be blank' },
      { file: 'GET /users', line: 1, list: 'users', index: 2, id: 'u3', reason: expect.stringContaining('accounts: ') },
      {
        file: 'GET /fusion/profiles',
        line: 1,
        list: 'profiles',
        index: 1,
        id: 'p1_Y',
        reason: expect.stringContaining('followers_count: '),
      },
    ])
    expect(ended.counts).toMatchObject({ user: [3, 1], account: [2, 2], profile: [2, 1] })
    expect(readFileSync(rejects, 'utf8')).toContain('user2@example.com')
  })

  it('has the reason of the service, if that refuses an id', async () => {
    const { ended } = await importInto({
      users: () => [userOf('1', 'X', 'Y')],
      instead(request, response) {
        const isProfiles = request.url?.startsWith('/fusion/profiles') === true
        if (isProfiles) send(response, 422, {})
        return isProfiles
      },
    })
    expect(ended.refused).toEqual([
      { file: 'GET /fusion/profiles', id: 'a1_X', reason: 'GET /fusion/profiles responded 422' },
      { file: 'GET /fusion/profiles', id: 'a1_Y', reason: 'GET /fusion/profiles responded 422' },
    ])
  })

  it('and what it would write is said by a dry run, which writes nothing', async () => {
    const emails = [{ id: 'e1', value: 'a@example.com', created_at: time, updated_at: time }]
    const both: OldServiceOptions = {
      ...options,
      profileOf: (id) => profileOf(id, id === 'a1_X' ? { emails } : { followers_count: -1 }),
    }
    const { tenant, ended } = await importInto(both, '--dry-run')
    const tables = { user: [3, 0], account: [2, 0], profile: [2, 0], 'email record': [1, 0], job: [0, 0] }
    expect(ended.counts).toEqual(tables)
    expect(ended.refused.map(({ id }) => id)).toEqual(['u2', 'u3', 'p1_Y'])
    // The user, two accounts, a profile and its email.
    expect(ended.stderr).toBe('Nothing was written. The import would write 5 rows, and refuse 3 records.\n')
    expect(await exported(tenant)).toBe('')
    // Of a tenant that has the users already, only differences would be written.
    const old = await startOldService({ ...both, key: 'old-secret' })
    await importFrom(old.url, tenant)
    const again = await importFrom(old.url, tenant, '--dry-run')
    expect(again.stderr).toBe('Nothing was written. The import would write 0 rows, and refuse 3 records.\n')
    await old.close()
    const changed = await startOldService({ users: () => [{ ...good, name: 'Changed' }], profileOf: () => undefined })
    const before = await exported(tenant)
    expect((await importFrom(changed.url, tenant, '--dry-run')).stderr).toContain('would write 1 rows')
    expect(await exported(tenant)).toBe(before)
    await changed.close()
  })
})
