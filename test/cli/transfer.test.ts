import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TenantApp } from '../../src/db/generated/prisma/client.ts'
import { seedTenant } from '../../src/seed/seed.ts'
import { createTenant } from '../../src/tenant/tenant.service.ts'
import { exportTenant } from '../../src/transfer/export.ts'
import { importFile, type Rejection } from '../../src/transfer/import.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { fusion } from '../support/cli.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { jobClient } from '../support/jobs.ts'

let app: TestApp
const folder = mkdtempSync(path.join(tmpdir(), 'fusion-transfer-'))

beforeAll(async () => {
  app = await startTestApp()
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

const silent = { error: () => undefined, warn: () => undefined }

async function exported(tenant: TenantApp): Promise<string> {
  let text = ''
  for await (const record of exportTenant(app.database, tenant, silent)) text += `${JSON.stringify(record)}\n`
  return text
}

/** Imports a text, in chunks of an odd size, so that lines are cut in the middle. */
async function importText(tenant: TenantApp, text: string | Buffer) {
  const rejections: Rejection[] = []
  const bytes = Buffer.from(text)
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += 65_521) yield bytes.subarray(at, at + 65_521)
  }
  const options = { tenantAppId: tenant.id, onReject: (rejection: Rejection) => rejections.push(rejection) }
  const imported = await importFile(app.database, { name: 'file', chunks: chunks() }, options)
  return { imported, rejections }
}

let number = 0
function newTenant(): Promise<TenantApp> {
  number += 1
  return createTenant(app.database, `Transfer ${number}`)
}

/** A tenant with everything that a record can say, and with what it can leave out. */
async function fullTenant(users: number): Promise<TenantApp> {
  const tenant = await newTenant()
  await seedTenant(app.database, { tenantAppId: tenant.id, users, seed: 5 })
  const asTestTenant = { tenantAppId: tenant.id, name: tenant.name, key: '' }
  await createOneOfEach(app, asTestTenant)
  const make = factoriesFor(app, asTestTenant)
  await make.user({ id: 'ünusual "id"\n', name: 'Zoë 𝒜', phone: null })
  await make.job({ status: 'RUNNING', jobType: null, payload: { z: null, a: ['\u2028', '\0'] }, attempts: 3 })
  return tenant
}

describe('export and import', () => {
  it('an export, imported into an empty tenant, exports the same bytes', async () => {
    const first = await exported(await fullTenant(1_200))
    const copy = await newTenant()
    const { imported, rejections } = await importText(copy, first)
    expect(rejections).toEqual([])
    expect(imported).toBe(first.trimEnd().split('\n').length)
    expect(await exported(copy)).toBe(first)
  })

  it('importing it again changes nothing, not even when a row was last changed', async () => {
    const first = await exported(await fullTenant(50))
    const copy = await newTenant()
    await importText(copy, first)
    const where = { tenantAppId: copy.id }
    const rows = async () => [
      await app.database.prisma.account.findMany({ where }),
      await app.database.prisma.profile.findMany({ where }),
    ]
    const before = await rows()
    expect((await importText(copy, first)).rejections).toEqual([])
    expect(await rows()).toEqual(before)
    expect(await exported(copy)).toBe(first)
  })

  it('an import that broke off half way is finished by running it again', async () => {
    const first = await exported(await fullTenant(1_500))
    const copy = await newTenant()
    async function* broken() {
      yield Buffer.from(first.slice(0, Math.floor(first.length / 2)))
      await nextTurn()
      throw new Error('the pipe broke')
    }
    const file = { name: 'file', chunks: broken() }
    const options = { tenantAppId: copy.id, onReject: () => undefined }
    await expect(importFile(app.database, file, options)).rejects.toThrow('the pipe broke')
    expect(await app.database.prisma.user.count({ where: { tenantAppId: copy.id } })).toBeGreaterThan(0)
    expect((await importText(copy, first)).rejections).toEqual([])
    expect(await exported(copy)).toBe(first)
  })

  it('brings a record that changed to what the file says', async () => {
    const tenant = await fullTenant(2)
    const text = await exported(tenant)
    const [line = ''] = text.split('\n')
    const changed = line.replace(/"name":"[^"]*"/, '"name":"Changed"')
    await importText(tenant, changed)
    expect(await exported(tenant)).toBe(text.replace(line, changed))
  })

  it('leaves the record of a job that exists and was not imported to its worker', async () => {
    const tenant = await app.createTenant()
    const made = await jobClient(app, tenant)('createJob', { jobType: 'here', payload: { b: 1, a: ['x'] } })
    const here = await app.database.prisma.tenantApp.findFirstOrThrow({ where: { id: tenant.tenantAppId } })
    const text = await exported(here)
    expect((await importText(here, text)).rejections).toEqual([])
    const { rejections } = await importText(here, text.replace('"pending"', '"succeeded"'))
    expect(rejections).toMatchObject([{ reason: `the job ${made.job?.id} exists and was not imported` }])
    expect(await exported(here)).toBe(text)
  })

  it('takes whole answers of the REST interface as they are', async () => {
    const source = await app.createTenant()
    const { account } = await createOneOfEach(app, source)
    const users = await app.rest(source, 'GET', '/users')
    const profiles = await app.rest(source, 'GET', '/fusion/profiles', [account.id])
    const copy = await newTenant()
    const { imported, rejections } = await importText(copy, `${users.body}\n${profiles.body}`)
    expect({ imported, rejections }).toEqual({ imported: 2, rejections: [] })
    const original = await app.database.prisma.tenantApp.findFirstOrThrow({ where: { id: source.tenantAppId } })
    const withoutJobs = (await exported(original)).split('\n').filter((line) => !line.includes('"job_type"'))
    expect(await exported(copy)).toBe(withoutJobs.join('\n'))
  })
})

describe('bad lines', () => {
  const time = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }
  const account = { id: 'a1', user_platform: 'X', platform_account_id: 'x1', display_name: 'd' }
  const user = { id: 'u1', ...time, name: 'n', email: 'e@x', phone: null, accounts: [account] }
  const profile = { id: 'p1', user_platform: 'X', platform_account_id: 'x1' }

  it('are reported with file, line and reason, and the rest goes on', async () => {
    const tenant = await newTenant()
    const other = { ...user, id: 'u2', accounts: [] }
    const lines: [unknown, string | null][] = [
      [user, null],
      ['{"id":', 'is not JSON'],
      [[user], 'is not a JSON object'],
      [{ id: 'x' }, 'is not a known record: user (accounts), profile (user_platform), job (status)'],
      [{ ...user, id: '', name: ' ' }, 'id: must be an id of 1 to 128 characters; name: must not be blank'],
      [{ ...user, created_at: 'yesterday' }, 'created_at: must be a date-time'],
      [{ ...other, accounts: [{ ...account, user_platform: 'x' }] }, 'accounts.0.user_platform: must be upper case'],
      [{ ...other, accounts: [account] }, 'the account a1 belongs to another user'],
      [{ ...other, accounts: [{ ...account, id: 'a2' }] }, 'another record has the same platform account or id'],
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
      [{ id: 'j1', status: 'done' }, 'status: must be one of pending'],
      [{ id: 'j1', status: 'pending' }, null],
    ]
    const text = lines.map(([line]) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
    const { imported, rejections } = await importText(tenant, text)
    const expected = lines.flatMap(([, reason], index) => (reason === null ? [] : [[index + 1, reason]]))
    // A line that cannot be read is reported at once, one that cannot be written with its batch.
    const sorted = [...rejections].sort((one, other) => one.line - other.line)
    expect(sorted.map(({ line, reason }) => [line, reason])).toEqual(
      expected.map(([line, reason]) => [line, expect.stringContaining(String(reason))]),
    )
    expect(imported).toBe(lines.length - expected.length)
    const { prisma } = app.database
    const where = { tenantAppId: tenant.id }
    expect([await prisma.user.count({ where }), await prisma.account.count({ where })]).toEqual([2, 1])
  })

  it('that are not UTF-8 are refused', async () => {
    const bytes = Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xff]), Buffer.from('","accounts":[]}\n')])
    expect((await importText(await newTenant(), bytes)).rejections).toMatchObject([{ line: 1, reason: 'is not UTF-8' }])
  })

  it('do not reach another tenant: ids that it has are free here', async () => {
    const [one, two] = [await newTenant(), await newTenant()]
    const text = `${JSON.stringify(user)}\n${JSON.stringify(profile)}\n`
    await importText(one, text)
    const before = await exported(one)
    const changed = text.replaceAll('"name":"n"', '"name":"other"')
    expect((await importText(two, changed)).rejections).toEqual([])
    expect(await exported(one)).toBe(before)
    expect(await exported(two)).toContain('other')
  })
})

describe('on the command line', () => {
  const env = { DATA_DIR: path.join(folder, 'data') }
  const file = path.join(folder, 'records.ndjson')

  it('export | import, rejects, and the exit code', async () => {
    await fusion(['tenants', 'create', 'From'], env)
    await fusion(['tenants', 'create', 'To'], env)
    await fusion(['seed', '--tenant', 'From', '--users', '20'], env)
    const source = await fusion(['export', '--tenant', 'From'], env)
    expect(source.code).toBe(0)
    writeFileSync(file, `${source.stdout}nonsense\n`)
    const rejects = path.join(folder, 'rejects.ndjson')
    const run = await fusion(['import', '--tenant', 'To', '--rejects', rejects, file], env)
    expect(run).toMatchObject({ code: 1, stderr: `${file}:81: is not JSON\n` })
    expect(run.stdout).toMatch(/^Imported 80 records in [\d.]+ s \(\d+ records\/s\), rejected 1\.\n$/)
    expect(JSON.parse(readFileSync(rejects, 'utf8'))).toEqual({
      file,
      line: 81,
      reason: 'is not JSON',
      text: 'nonsense',
    })
    expect((await fusion(['export', '--tenant', 'To'], env)).stdout).toBe(source.stdout)
    const none = path.join(folder, 'none')
    for (const [args, stderr] of [
      [[none], `The file ${none} does not exist.\n`],
      [[folder], `${folder} is a folder.\n`],
      [['--rejects', `${none}/rejects`, file], expect.stringMatching(/^The file .* cannot be written: ENOENT.*\n$/)],
    ] as const) {
      expect(await fusion(['import', '--tenant', 'To', ...args], env)).toEqual({ code: 1, stdout: '', stderr })
    }
  })

  it('a killed import is finished by running it again', async () => {
    await fusion(['tenants', 'create', 'Killed'], env)
    const users = Array.from({ length: 6_000 }, (_, index) => ({
      ...{ id: `u${index}`, created_at: new Date(index).toISOString(), updated_at: new Date(index).toISOString() },
      ...{ name: 'n', email: 'e@x', phone: null, accounts: [] },
    }))
    const text = users.map((user) => `${JSON.stringify(user)}\n`).join('')
    const entry = path.resolve(import.meta.dirname, '../../src/cli.ts')
    const child = spawn(process.execPath, [entry, 'import', '--tenant', 'Killed', '-'], {
      env: { ...process.env, DATABASE_URL: '', ...env },
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    // Half of it, never the end: the import waits for more when it is killed.
    await new Promise((resolve) => child.stdin.write(text.slice(0, text.length / 2), resolve))
    child.kill('SIGKILL')
    await once(child, 'exit')
    writeFileSync(file, text)
    expect((await fusion(['import', '--tenant', 'Killed', file], env)).code).toBe(0)
    expect((await fusion(['export', '--tenant', 'Killed'], env)).stdout).toBe(text)
  })
})
