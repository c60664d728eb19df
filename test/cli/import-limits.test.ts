import { Readable } from 'node:stream'
import type { TenantApp } from '@fusion-gateway/database'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { importFile } from '../../src/transfer/import.ts'
import { maxRecordBytes } from '../../src/transfer/record-splitter.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { exportAll, importText } from '../support/transfer.ts'

let database: TestDatabase
let transactions = 0
let tenant: TenantApp
/** Has what is only large. */
let large: TenantApp

beforeAll(async () => {
  database = await createTestDatabase((sql) => {
    if (sql === 'BEGIN') transactions += 1
    return undefined
  })
  tenant = await createTenant(database, 'Imports')
  large = await createTenant(database, 'Large')
})
afterAll(() => database.close())

const time = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }
const user = { id: 'u1', ...time, name: 'n', email: 'e@x', phone: null, accounts: [] as object[] }
const account = { id: 'a1', user_platform: 'X', platform_account_id: 'x1', display_name: 'd' }
const profile = { id: 'p1', user_platform: 'X', platform_account_id: 'x1', emails: [] as object[] }
const job = { id: 'j1', status: 'succeeded', attempts: 1 }

const linesOf = (records: readonly unknown[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('')
const importAll = (...records: unknown[]) => importText(database, tenant, linesOf(records))

/** Why a record is rejected; undefined if it is imported. */
async function reasonOf(record: unknown): Promise<string | undefined> {
  const { imported, rejections } = await importAll(record)
  expect(imported + rejections.length).toBe(1)
  return rejections[0]?.reason
}

describe('a line with a list of records', () => {
  it('is as good as the records in lines of their own, and each is rejected alone, with its index and id', async () => {
    const users = ['a', 'b', 'c'].map((id) => ({ ...user, id }))
    const bad = { ...user, id: 'bad', name: ' ' }
    const jobLine = '{"id":"list_job","status":"failed","attempts":9007199254740993}'
    const list = `{"next":null, "users": [${[...users.slice(0, 2), bad, users[2]].map((one) => JSON.stringify(one)).join(', ')},7]}`
    const { imported, rejections } = await importText(database, tenant, `${list}\n{"profiles":[${jobLine}]}`)
    expect(imported).toBe(3)
    expect(rejections).toEqual([
      {
        file: 'file',
        line: 1,
        list: 'users',
        index: 2,
        id: 'bad',
        reason: 'name: must not be blank',
        text: JSON.stringify(bad),
      },
      { file: 'file', line: 1, list: 'users', index: 4, reason: 'is not a JSON object', text: '7' },
      {
        file: 'file',
        line: 2,
        list: 'profiles',
        index: 0,
        reason: expect.stringContaining('has the number 9007199254740993'),
        text: jobLine,
      },
    ])
  })

  it('can be cut off: the records before that are imported', async () => {
    const [one, two] = [1, 2].map((number) => JSON.stringify({ ...user, id: `cut_${number}` }))
    const { imported, rejections } = await importText(
      database,
      tenant,
      `{"users":[${one},${two?.slice(0, 20)}\n{"users":[]}]`,
    )
    expect(imported).toBe(1)
    expect(rejections).toEqual([
      {
        file: 'file',
        line: 1,
        list: 'users',
        index: 1,
        reason: 'is cut off: the line ends within "users"',
        text: two?.slice(0, 20),
      },
      { file: 'file', line: 2, reason: 'is not JSON', text: '{"users":[]}]' },
    ])
  })

  it('is read no faster than its rejected records are written', async () => {
    let waiting = 0
    let most = 0
    const onReject = async () => {
      waiting += 1
      most = Math.max(most, waiting)
      // Longer than the next record takes.
      for (let count = 0; count < 10; count += 1) await database.prisma.tenantApp.count()
      waiting -= 1
    }
    // What JSON or a rule refuses, and what the database does.
    const missing = Array.from({ length: 8 }, (_, index) => ({ ...profile, platform_account_id: `missing_${index}` }))
    const bytes = Buffer.from(JSON.stringify({ profiles: [1, 2, 3, ...missing] }))
    const file = { name: 'file', chunks: Readable.from([bytes]) }
    expect(await importFile(database, file, { tenantAppId: tenant.id, onReject })).toBe(0)
    expect([waiting, most]).toEqual([0, 1])
  })

  it('is imported while it is read', async () => {
    const chunkLength = 16_384
    const jobs = Array.from({ length: 70 }, (_, index) => ({
      ...job,
      id: `stream_${index}`,
      result: { text: 'x'.repeat(65_536) },
    }))
    const bytes = Buffer.from(`{"next":null,"users":${JSON.stringify(jobs)}}`)
    let read = 0
    let furthest = 0
    let batches = 0
    async function* chunks() {
      transactions = 0
      for (; read < bytes.length; read += chunkLength) yield bytes.subarray(read, read + chunkLength)
      batches = transactions
    }
    const onProgress = (done: number) => {
      furthest = Math.max(furthest, Math.min(read + chunkLength, bytes.length) - done)
    }
    const file = { name: 'file', chunks: chunks() }
    const options = { tenantAppId: large.id, onReject: () => expect.unreachable(), onProgress }
    expect(await importFile(database, file, options)).toBe(70)
    // What was read and is in no record yet is never more than a chunk, and the first batch is written before the
    // line has ended.
    expect(furthest).toBeLessThanOrEqual(chunkLength)
    expect(batches).toBe(1)
  })
})

describe('a batch', () => {
  it('has at most 1,000 records and about 4 MiB', async () => {
    const batchesOf = async (lengths: readonly number[]) => {
      const resultOf = (length: number) => ({ text: 'x'.repeat(length) })
      const text = linesOf(lengths.map((length, index) => ({ ...job, id: `batch_${index}`, result: resultOf(length) })))
      transactions = 0
      const file = {
        name: 'file',
        chunks: (async function* () {
          yield Buffer.from(text)
        })(),
      }
      const onReject = () => expect.unreachable()
      expect(await importFile(database, file, { tenantAppId: large.id, onReject })).toBe(lengths.length)
      return transactions
    }
    const mebibyte = 1024 * 1024
    expect(await batchesOf(Array(1_001).fill(1))).toBe(2)
    expect(await batchesOf(Array(3).fill(1.5 * mebibyte))).toBe(2)
    expect(await batchesOf([4 * mebibyte, 1])).toBe(2)
  })

  it('is rejected where the database refuses a record, and the import continues', async () => {
    await database.runAsOwner(`ALTER TABLE job ADD CONSTRAINT own_rule CHECK (job_type <> 'forbidden')`)
    const jobs = Array.from({ length: 40 }, (_, index) => ({ ...job, id: `own_${index}`, job_type: 'allowed' }))
    const records = jobs.map((one, index) => (index % 13 === 5 ? { ...one, job_type: 'forbidden' } : one))
    const { imported, rejections } = await importAll(...records)
    await database.runAsOwner('ALTER TABLE job DROP CONSTRAINT own_rule')
    expect(imported).toBe(37)
    const reason = expect.stringMatching(/^the database refused it: .*own_rule/)
    expect(rejections).toMatchObject([5, 18, 31].map((index) => ({ line: index + 1, id: `own_${index}`, reason })))
  })
})

describe('the rules of records', () => {
  it('accept only what an index can store, and name the field', async () => {
    // Each character has four bytes, and no two are equal, so that PostgreSQL cannot compress them.
    const wide = (length: number) => String.fromCodePoint(...Array.from({ length }, (_, index) => 0x20000 + index * 7))
    const withAccount = (id: string) => ({ ...user, accounts: [{ ...account, platform_account_id: id }] })
    expect(await reasonOf({ ...job, id: 'index', job_type: wide(500) })).toBeUndefined()
    expect(await reasonOf({ ...job, id: 'index', job_type: wide(501) })).toBe(
      'job_type: must have at most 500 characters',
    )
    expect(
      await reasonOf({ ...user, id: 'index', accounts: [{ ...account, id: 'index', platform_account_id: wide(500) }] }),
    ).toBeUndefined()
    expect(await reasonOf(withAccount(wide(501)))).toBe(
      'accounts.0.platform_account_id: must have at most 500 characters',
    )
    expect(await reasonOf({ ...profile, platform_account_id: wide(501) })).toBe(
      'platform_account_id: must have at most 500 characters',
    )
  })

  it('accept texts of any other length', async () => {
    const long = 'Zoë '.repeat(5_000).trim()
    expect(
      await reasonOf({ ...user, name: long, email: long, phone: long, accounts: [{ ...account, display_name: long }] }),
    ).toBeUndefined()
    expect(await reasonOf({ ...profile, description: long, country: long, category: long })).toBeUndefined()
  })

  it('accept null for every field that can be absent', async () => {
    await importAll({ ...user, id: 'null', accounts: [{ ...account, id: 'null', platform_account_id: 'null' }] })
    const nulls = (...keys: string[]) => Object.fromEntries(keys.map((key) => [key, null]))
    const times = ['created_at', 'updated_at']
    const { id: _, emails, ...required } = { ...profile, platform_account_id: 'null' }
    const { text } = await exportAll(database, tenant)
    const [line = ''] = text.split('\n').filter((one) => one.includes('"phone_numbers"'))
    const optional = Object.keys({ ...JSON.parse(line), emails }).filter((key) => key !== 'id' && !(key in required))
    expect(optional).toContain('synced_at')
    const email = { id: 'e1', value: 'e@x', ...time, ...nulls('type', 'is_verified', 'is_primary') }
    const jobNulls = ['job_type', 'payload', 'result', 'attempts', 'error', 'progress', 'progress_message']
    const { rejections } = await importAll(
      {
        ...user,
        id: 'null',
        phone: null,
        accounts: [{ ...account, id: 'null', platform_account_id: 'null', ...nulls('status', ...times) }],
      },
      { ...required, id: 'null', ...nulls(...optional) },
      { ...required, id: 'null', emails: [email] },
      { id: 'null', status: 'pending', ...nulls(...jobNulls, 'started_at', 'finished_at', ...times) },
    )
    expect(rejections).toEqual([])
  })

  it.each([
    ['2026-01-31T08:00:00Z', undefined],
    ['2026-01-31T08:00:00.123000Z', undefined],
    ['2026-01-31T08:00:00.1+05:30', undefined],
    ['0001-01-01T00:00:00Z', undefined],
    ['2026-01-31T08:00:00.123456Z', 'must have at most milliseconds, such as 08:00:00.123Z'],
    ['2026-01-31T08:00:00.0001+05:30', 'must have at most milliseconds, such as 08:00:00.123Z'],
    ['2026-01-31T08:00:00', 'needs an offset, such as Z'],
    ['2026-01-31T08:00:00.123', 'needs an offset, such as Z'],
    ['2026-01-31', 'needs a time and an offset, such as T00:00:00Z'],
    ['2026-01-31T08:00Z', 'must be a time, such as 2026-01-31T08:00:00Z'],
    ['2026-02-30T08:00:00Z', 'must be a time, such as 2026-01-31T08:00:00Z'],
    ['1767225600', 'must be a time, such as 2026-01-31T08:00:00Z'],
    ['0000-12-31T23:59:59Z', 'must be in the years 1 to 9999'],
    ['0001-01-01T00:00:00+01:00', 'must be in the years 1 to 9999'],
  ])('read the time %s', async (text, problem) => {
    const error = { code: 'C', message: 'm', attempt: 1, at: text }
    const fields = problem === undefined ? undefined : `created_at: ${problem}`
    expect(await reasonOf({ ...user, created_at: text })).toBe(fields)
    expect(await reasonOf({ ...job, error })).toBe(problem === undefined ? undefined : `error.at: ${problem}`)
  })

  it('read a failed job as REST returns it', async () => {
    const record = { ...job, id: 'failed', attempts: 2, updated_at: '2026-01-31T08:00:00Z' }
    expect(await reasonOf({ ...record, error: { code: 'C', message: 'm' } })).toBeUndefined()
    const { error } = await database.prisma.job.findFirstOrThrow({ where: { id: 'failed' } })
    expect(error).toEqual({ code: 'C', message: 'm', attempt: 2, at: '2026-01-31T08:00:00.000Z' })
  })

  it('accept accounts without times at the end of time', async () => {
    const accounts = [1, 2, 3].map((number) => ({
      ...account,
      id: `end_${number}`,
      platform_account_id: `end_${number}`,
    }))
    expect(await reasonOf({ ...user, id: 'end', created_at: '9999-12-31T23:59:59.999Z', accounts })).toBeUndefined()
  })

  it('reject objects that are nested too deep, and records that are too long', async () => {
    const deep = `{"id":"deep","status":"failed","payload":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`
    const long = Buffer.concat([
      Buffer.from('{"id":"long","x":"'),
      Buffer.alloc(maxRecordBytes, 'x'),
      Buffer.from('"}\n'),
    ])
    const last = Buffer.from(`${JSON.stringify({ ...job, id: 'last' })}\n`)
    const { imported, rejections } = await importText(
      database,
      tenant,
      Buffer.concat([Buffer.from(`${deep}\n`), long, last]),
    )
    expect(imported).toBe(1)
    expect(rejections).toMatchObject([
      {
        line: 1,
        id: 'deep',
        reason: expect.stringContaining('payload: must have at most 16384 KiB and be nested at most 64'),
      },
      { line: 2, reason: 'is longer than 32 MiB', text: expect.stringMatching(/^\{"id":"long","x":"x{900}/) },
    ])
    expect(rejections[1]?.text).toHaveLength(1_000)
  })
})
