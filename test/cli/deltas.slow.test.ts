import { randomInt } from 'node:crypto'
import type { TenantApp } from '@fusion-gateway/database'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEventLog } from '../../src/domain/event/event-log.ts'
import { createRandom } from '../../src/domain/seed/seed.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { settleEvents } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { hasServer } from '../support/postgresql.ts'
import { type Exported, exportAll, importText } from '../support/transfer.ts'
import { createRandomChanges } from './random-changes.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())

/** What a copy does not have: the tenant's id, and the columns with which a database runs a job. */
const notCopied = ['tenant_app_id', 'max_attempts', 'run_at', 'lease_token', 'lease_expires_at', 'idempotency_key']

/** All rows of a tenant, by table. */
async function rowsOf({ id }: TenantApp): Promise<Record<string, unknown[]>> {
  const rows: Record<string, unknown[]> = {}
  for (const table of ['user', 'account', 'profile', 'email_record', 'job']) {
    const found = await app.database.prisma.$queryRawUnsafe<{ row: Record<string, unknown> }[]>(
      `SELECT to_jsonb(stored) - $2::text[] AS row FROM "${table}" AS stored WHERE tenant_app_id = $1 ORDER BY id`,
      id,
      notCopied,
    )
    // Without a time of its own, a profile was synchronized when it last changed.
    rows[table] = found.map(({ row }) => (row['synced_at'] === null ? { ...row, synced_at: row['updated_at'] } : row))
  }
  return rows
}

interface Source extends TestTenant {
  readonly row: TenantApp
}

async function newTenant(): Promise<Source> {
  const tenant = await app.createTenant()
  return { ...tenant, row: await app.database.prisma.tenantApp.findFirstOrThrow({ where: { id: tenant.tenantAppId } }) }
}

let copies = 0

/** Creates a copy of a tenant. The first update imports all, and the others what has changed. */
async function createCopy(source: Source) {
  copies += 1
  const tenant = await createTenant(app.database, `Copy ${copies}`)
  let event: string | undefined
  return {
    tenant,
    /** Returns what was imported, and the event after which the copy continues. */
    async update(): Promise<Exported> {
      const exported = await exportAll(app.database, source.row, event)
      const { rejections } = await importText(app.database, tenant, exported.text)
      expect(rejections).toEqual([])
      event = exported.event
      return exported
    },
    async expectEqual(message = ''): Promise<void> {
      expect(await rowsOf(tenant), message).toEqual(await rowsOf(source.row))
    },
  }
}

const linesOf = ({ text }: Exported): Record<string, unknown>[] =>
  text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))

const countEvents = (tenantAppId: string) => app.database.prisma.event.count({ where: { tenantAppId } })

const syncProfile = `mutation ($input: SyncProfileInput!) { syncProfile(input: $input) { userErrors { message } } }`

/** Partitions and the embedded database execute the same statements, so one run has most of the changes. */
const manyEvents = hasServer && !process.env['TEST_PARTITIONS'] ? 10_000 : 2_000

describe('a copy that is kept by deltas', () => {
  it('equals the tenant, row by row, after thousands of random changes', async () => {
    const seed = Number(process.env['DELTAS_SEED'] ?? randomInt(2 ** 31))
    const random = createRandom(seed)
    const source = await newTenant()
    const copy = await createCopy(source)
    const changes = createRandomChanges(random, source.tenantAppId)
    for (let round = 1; (await countEvents(source.tenantAppId)) < manyEvents; round += 1) {
      for (let rest = 200 + random.below(4_000); rest > 0; ) {
        const transaction = Array.from({ length: 1 + random.below(60) }, changes.next)
        await app.database.sql.runScript(transaction.join(';\n'))
        rest -= transaction.length
      }
      for (const accountId of [...changes.accounts.keys()].slice(0, 5)) {
        const emails = [{ value: `${random.below(3)}@example.com` }]
        const input = { accountId, emails, followersCount: random.below(1_000_000), fullName: 'Zoë "𝒜" \\' }
        await app.graphql(source, syncProfile, { input })
      }
      await app.services.jobs.removeFinished(30)
      await copy.update()
      await copy.expectEqual(`DELTAS_SEED=${seed}, round ${round}`)
    }
  })

  it.skipIf(!hasServer)('equals the tenant although others write while deltas are exported', async () => {
    const source = await newTenant()
    const copy = await createCopy(source)
    const pool = new pg.Pool({ connectionString: app.database.url, max: 6 })
    let updates = 0

    /** Writes transactions of several statements, which overlap those of the others. */
    async function write(prefix: string): Promise<void> {
      const changes = createRandomChanges(createRandom(Number.parseInt(prefix, 36)), source.tenantAppId, prefix)
      const client = await pool.connect()
      while (updates < 5) {
        await client.query('BEGIN')
        for (let part = 0; part < 3; part += 1) await client.query([changes.next(), changes.next()].join(';'))
        await client.query('COMMIT')
      }
      client.release()
    }

    const writers = Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(write))
    for (; updates < 5; updates += 1) await copy.update()
    await writers
    await pool.end()
    await copy.update()
    await copy.expectEqual()
  })

  it.skipIf(!hasServer)('has what a transaction wrote that was open during the last export', async () => {
    const source = await newTenant()
    const copy = await createCopy(source)
    const client = new pg.Client({ connectionString: app.database.url })
    await client.connect()
    await client.query('BEGIN')
    const insert = `INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ($1, 'usr_open', 'A', 'a', now())`
    await client.query(insert, [source.tenantAppId])
    const later = await factoriesFor(app, source).user()
    expect(linesOf(await copy.update()).map(({ id }) => id)).toEqual([later.id])
    await client.query('COMMIT')
    await client.end()
    expect(linesOf(await copy.update()).map(({ id }) => id)).toContain('usr_open')
    await copy.expectEqual()
  })

  it('has an account that an older transaction has linked again', async () => {
    const source = await newTenant()
    const make = factoriesFor(app, source)
    const [one, other] = [await make.user(), await make.user()]
    const { id, platform, platformAccountId } = await make.account(one.id)
    const { prisma } = app.database
    const where = { tenantAppId: source.tenantAppId }
    await prisma.account.deleteMany({ where: { ...where, id } })
    await make.profile(await make.account(other.id, { id, platform, platformAccountId }))
    const copy = await createCopy(source)
    await settleEvents(app)
    const { event } = await copy.update()
    // As if the transaction that has unlinked the account had a greater number, beyond the horizon of the first export.
    const transaction = (Number.parseInt(event.slice(4, 16), 16) + 1).toString(16).padStart(12, '0')
    const data = { id: `evt_${transaction}000000000000` }
    await prisma.event.updateMany({ where: { ...where, type: 'ACCOUNT_UNLINKED' }, data })
    await prisma.user.updateMany({ where: { ...where, id: one.id }, data: { name: 'Changed later' } })
    expect(linesOf(await copy.update())[0]).toEqual({ deleted: 'account', id })
    await copy.expectEqual()
  })
})

describe('a delta', () => {
  it('deletes first, and then has what has changed as it is now, each once', async () => {
    const source = await newTenant()
    const make = factoriesFor(app, source)
    const { user: gone, account: goneAccount, job } = await createOneOfEach(app, source)
    const [one, other, same] = [await make.user(), await make.user(), await make.user()]
    const moved = await make.account(one.id)
    const taken = await make.account(one.id, { platform: 'X', platformAccountId: 'x1' })
    const unchanged = [await make.user(), await make.job()]
    const copy = await createCopy(source)
    await settleEvents(app)
    expect(linesOf(await copy.update())).toHaveLength(6 + unchanged.length)

    const { prisma } = app.database
    const where = { tenantAppId: source.tenantAppId }
    for (const { id } of [gone, same]) await prisma.user.deleteMany({ where: { ...where, id } })
    await make.user({ id: same.id, name: 'Another' })
    for (const { id } of [moved, taken]) await prisma.account.deleteMany({ where: { ...where, id } })
    await make.account(other.id, { id: moved.id })
    await make.profile(await make.account(other.id, { platform: 'X', platformAccountId: 'x1' }))
    // More events than are read at a time.
    for (let step = 0; step < 260; step += 1) {
      await prisma.job.updateMany({ where: { ...where, id: job.id }, data: { progress: step / 260 } })
      await prisma.user.updateMany({ where: { ...where, id: one.id }, data: { name: `Name ${step}` } })
    }
    const delta = await copy.update()
    expect(linesOf(delta).map(({ deleted, id, name }) => [deleted, id, name])).toEqual([
      ['user', gone.id, undefined],
      ['user', same.id, undefined],
      ['account', goneAccount.id, undefined],
      ['account', moved.id, undefined],
      ['account', taken.id, undefined],
      [undefined, one.id, 'Name 259'],
      [undefined, other.id, other.name],
      [undefined, same.id, 'Another'],
      [undefined, expect.stringMatching(/^prf_/), undefined],
      [undefined, job.id, undefined],
    ])
    await copy.expectEqual()
    const events = await prisma.event.findMany({ where: { tenantAppId: copy.tenant.id, resourceId: moved.id } })
    expect(events.map(({ type, keyId }) => [type, keyId])).toEqual([
      ['ACCOUNT_LINKED', null],
      ['ACCOUNT_UNLINKED', null],
      ['ACCOUNT_LINKED', null],
    ])
  })

  it('changes nothing when it is imported again, and is empty if nothing has changed', async () => {
    const source = await newTenant()
    const copy = await createCopy(source)
    expect(await copy.update()).toEqual({ text: '', event: expect.stringMatching(/^evt_[0-9a-f]{24}$/) })
    await createOneOfEach(app, source)
    const delta = await copy.update()
    expect(linesOf(delta)).toHaveLength(3)
    const events = await countEvents(copy.tenant.id)
    expect((await importText(app.database, copy.tenant, delta.text)).rejections).toEqual([])
    expect(await countEvents(copy.tenant.id)).toBe(events)
    await copy.expectEqual()
    await settleEvents(app)
    await copy.update()
    expect((await copy.update()).text).toBe('')
  })

  it('has a job that was removed because of its age', async () => {
    const source = await newTenant()
    const job = await factoriesFor(app, source).job({ status: 'SUCCEEDED', finishedAt: new Date('2020-01-01') })
    const copy = await createCopy(source)
    await settleEvents(app)
    const { event } = await exportAll(app.database, source.row)
    await copy.update()
    const where = { tenantAppId: source.tenantAppId, id: job.id }
    await app.database.prisma.job.updateMany({ where, data: { progress: 1 } })
    await app.services.jobs.removeFinished(30)
    const delta = await exportAll(app.database, source.row, event)
    expect(linesOf(delta)).toEqual([{ deleted: 'job', id: job.id }])
    // The same maintenance has removed it from the copy.
    await copy.update()
    await copy.expectEqual()
  })

  it('reads with a number of statements that does not depend on the number of changes', async () => {
    const source = await newTenant()
    const create = (count: number) => createMany(source, count)
    await create(1)
    const count = async (since?: string) => {
      let event = ''
      const statements = await app.statementsOf(async () => {
        event = (await exportAll(app.database, source.row, since)).event
      })
      return { event, statements: statements.length }
    }
    await settleEvents(app)
    const { event: start } = await count()
    await create(2)
    await settleEvents(app)
    const few = await count(start)
    await create(60)
    expect((await count(few.event)).statements).toBe(few.statements)
  })

  it('ends with an event after which the log can also be read', async () => {
    const source = await newTenant()
    const make = factoriesFor(app, source)
    await make.user()
    await settleEvents(app)
    const { event } = await exportAll(app.database, source.row)
    const later = await make.user()
    await settleEvents(app)
    const query = 'query ($after: String) { events(after: $after) { nodes { resourceId } } }'
    const { data } = await app.graphql(source, query, { after: event })
    expect(data).toEqual({ events: { nodes: [{ resourceId: later.id }] } })
    const follower = await app.services.events.follow(source, event)
    expect((await follower.next())?.map(({ resourceId }) => resourceId)).toEqual([later.id])
    follower.return()
  })

  it('cannot continue from an event of another log, or from one after which events have been removed', async () => {
    const source = await newTenant()
    await factoriesFor(app, source).user()
    const { event } = await exportAll(app.database, source.row)
    const future = 'evt_fffffffffffffffffffffff0'
    await expect(exportAll(app.database, source.row, future)).rejects.toThrow(
      `The log of this database has not reached ${future}. Is it of another database?`,
    )
    await factoriesFor(app, source).user()
    const where = { tenantAppId: source.tenantAppId }
    await app.database.prisma.event.updateMany({ where, data: { createdAt: new Date('2026-01-01') } })
    await createEventLog(app.database).removeOlderThan(30)
    await expect(exportAll(app.database, source.row, event)).rejects.toThrow(
      `Events after ${event} have been removed because of their age. Export everything again.`,
    )
  })
})

describe('an import of deletions', () => {
  it('ignores what does not exist, and rejects what it cannot delete', async () => {
    const source = await newTenant()
    const { id } = await factoriesFor(app, source).job({ runAt: new Date() })
    const time = '2026-01-01T00:00:00Z'
    const lines: [object, string | undefined][] = [
      [{ deleted: 'user', id: 'usr_none' }, undefined],
      [{ deleted: 'profile', id: 'prf_1' }, 'deleted: must be one of user, account, job'],
      [{ deleted: 'user' }, 'id: must be an id of 1 to 128 characters'],
      [{ deleted: 'user', id: 'a\0' }, 'id: must be an id of 1 to 128 characters'],
      [{ deleted: 'job', id }, `the job ${id} exists and was not imported`],
      [{ event: 'evt_000000000001000000000001' }, undefined],
      [{ deleted: { toString: 1 } }, 'deleted: must be one of user, account, job'],
      // Records of other systems can have such a key.
      [{ deleted: false, id: 'u', name: 'n', email: 'e', created_at: time, updated_at: time, accounts: [] }, undefined],
      [{ event: { toString: 1 } }, expect.stringMatching(/^is not a known record. Missing: accounts \(user\);/)],
      [{ event: 'evt_1' }, expect.stringMatching(/^is not a known record. Missing: accounts \(user\);/)],
    ]
    const text = lines.map(([line]) => JSON.stringify(line)).join('\n')
    const { imported, rejections } = await importText(app.database, source.row, text)
    expect(imported).toBe(2)
    const reasons = new Map(rejections.map(({ line, reason }) => [line, reason]))
    expect(lines.map((_, index) => reasons.get(index + 1))).toEqual(lines.map(([, reason]) => reason))
    expect(await app.database.prisma.job.count({ where: { id } })).toBe(1)
  })
})

/** Creates users with an account and a profile each, and jobs. */
async function createMany(source: Source, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) await createOneOfEach(app, source)
}
