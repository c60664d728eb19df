import { afterAll, beforeAll, expect, it } from 'vitest'
import { findMentionsOfTenant } from '../../src/domain/erasure/erase-users.ts'
import { deleteTenant } from '../../src/domain/tenant/delete-tenant.ts'
import { resumeTenant, suspendTenant } from '../../src/domain/tenant/suspend-tenant.ts'
import { findTenant, listTenants } from '../../src/domain/tenant/tenant.service.ts'
import { startUsageWriter } from '../../src/domain/usage/write-usage.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { isDistributed } from '../support/postgresql.ts'
import { silentLog } from '../support/webhooks.ts'

let app: TestApp

beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())

const query = <Row>(sql: string) => app.database.prisma.$queryRawUnsafe<Row[]>(sql)

/** The tables of the schema that have rows of tenants, without the parts of other tables. */
async function tablesOfTenants(): Promise<string[]> {
  const rows = await query<{ name: string }>(`
    SELECT quote_ident(relname) AS name FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace = 'public'::regnamespace AND attname = 'tenant_app_id' AND relkind IN ('r', 'p') AND NOT relispartition
    ORDER BY 1`)
  return rows.map(({ name }) => name)
}

/** The numbers of rows of a tenant, by table. */
async function countRows({ tenantAppId }: TestTenant): Promise<Map<string, number>> {
  const counts = (await tablesOfTenants()).map(
    (name) => `SELECT '${name}' AS name, count(*) FROM ${name} WHERE tenant_app_id = '${tenantAppId}'`,
  )
  const rows = await query<{ name: string; count: bigint }>(counts.join(' UNION ALL '))
  return new Map(rows.map(({ name, count }) => [name, Number(count)]))
}

/** Creates rows of a tenant in every table. */
async function fill(name: string): Promise<TestTenant> {
  const tenant = await app.createTenant(name)
  await createOneOfEach(app, tenant)
  const { user } = await createOneOfEach(app, tenant)
  const headers = { 'x-api-key': tenant.key, 'idempotency-key': 'once', 'content-type': 'application/json' }
  const payload = { name: 'Ada', email: 'ada@example.com', phone: '+1 555 0100' }
  await app.app.inject({ method: 'POST', url: '/users', headers, payload: JSON.stringify(payload) })
  // A history of each profile.
  await app.database.prisma.profile.updateMany({
    where: { tenantAppId: tenant.tenantAppId },
    data: { followersCount: 5 },
  })
  // Leaves a request for an erasure.
  await app.rest(tenant, 'DELETE', `/users/${user.id}`)
  await startUsageWriter(app.services, { log: silentLog })()
  return tenant
}

const remove = (tenant: TestTenant, onProgress: (done: number, total: number) => void = () => undefined) =>
  deleteTenant(app.database, tenant.tenantAppId, { onProgress })

it('a tenant is deleted with all its rows of every table, and others keep theirs', async () => {
  const [tenant, other] = [await fill('Acme'), await fill('Other')]
  const before = await countRows(tenant)
  expect([...before].filter(([, count]) => count === 0)).toEqual([])
  const ofOther = await countRows(other)
  await suspendTenant(app.database, { id: tenant.tenantAppId })
  expect((await app.rest(tenant, 'GET', '/users')).statusCode).toBe(403)
  await remove(tenant)
  expect([...(await countRows(tenant))].filter(([, count]) => count > 0)).toEqual([])
  expect((await listTenants(app.database)).map(({ name }) => name)).toEqual(['Other'])
  expect(await countRows(other)).toEqual(ofOther)
  expect(await findMentionsOfTenant(app.database, tenant.tenantAppId, [])).toEqual([])
  expect((await app.rest(tenant, 'GET', '/users')).statusCode).toBe(401)
  expect((await app.rest(other, 'GET', '/users')).statusCode).toBe(200)
})

it('a remaining row that names a deleted tenant is found, also that of no tenant', async () => {
  const tenant = await app.createTenant('Named')
  const other = await app.createTenant('Naming')
  await factoriesFor(app, other).job({ payload: { from: tenant.tenantAppId } })
  const find = async (id: string) =>
    (await findMentionsOfTenant(app.database, id, [])).map(({ table, column, rows, isKept }) => [
      table,
      column,
      rows,
      isKept,
    ])
  expect(await find(tenant.tenantAppId)).toContainEqual(['job', 'payload', 1, false])
  // On several servers events have a foreign key, too.
  if (isDistributed) return
  await app.database.prisma.$executeRawUnsafe(
    `INSERT INTO event (tenant_app_id, type, resource_id) VALUES ('ten_gone', 'USER_CREATED', 'usr_1')`,
  )
  expect(await find('ten_gone')).toEqual([['event', 'tenant_app_id', 1, false]])
})

it('a tenant that is not suspended is not deleted', async () => {
  const tenant = await fill('Active')
  const before = await countRows(tenant)
  await expect(remove(tenant)).rejects.toThrow('Only a suspended tenant can be deleted')
  expect(await countRows(tenant)).toEqual(before)
})

it('a deletion that was interrupted is completed by the next one, and cannot be undone', async () => {
  const tenant = await app.createTenant('Large')
  await app.database.prisma.$executeRawUnsafe(`
    INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
    SELECT '${tenant.tenantAppId}', 'usr_' || number, 'Ada', 'ada@example.com', now() FROM generate_series(1, 1200) AS number`)
  await suspendTenant(app.database, { id: tenant.tenantAppId })
  const suspended = await findTenant(app.database, 'Large')
  const before = await countRows(tenant)
  const interrupted = remove(tenant, (done, total) => {
    expect(total).toBe(2_400)
    if (done >= 500) throw new Error('interrupted')
  })
  await expect(interrupted).rejects.toThrow('interrupted')
  const left = await countRows(tenant)
  expect(left.get('"user"')).toBe(700)
  // The deletion itself writes nothing that would have to be deleted.
  expect([left.get('event'), left.get('erasure')]).toEqual([before.get('event'), 0])

  await expect(resumeTenant(app.database, suspended)).rejects.toThrow(
    'Another command has resumed the tenant, or deletes it',
  )
  await expect(findTenant(app.database, 'Large')).rejects.toThrow(
    'The deletion of Large has begun. Complete it: npm run fusion -- tenants delete "Large"',
  )
  const begun = () => app.database.prisma.tenantApp.findUnique({ where: { id: tenant.tenantAppId } })
  const first = (await begun())?.deletingSince
  const again = remove(tenant, () => {
    throw new Error('interrupted again')
  })
  await expect(again).rejects.toThrow('interrupted again')
  expect((await begun())?.deletingSince).toEqual(first)
  const done: number[] = []
  await remove(tenant, (count) => done.push(count))
  expect(done.at(-1)).toBe(1_900)
  expect(done).toEqual(done.toSorted((one, other) => one - other))
  expect([...(await countRows(tenant))].filter(([, count]) => count > 0)).toEqual([])
})

it('what a request that was under way has written since is deleted with the tenant', async () => {
  const tenant = await app.createTenant('Written')
  await suspendTenant(app.database, { id: tenant.tenantAppId })
  const { sql } = app.database
  const execute: typeof sql.execute = async (sent, parameters) => {
    if (sent.text.startsWith('DELETE FROM tenant_app')) {
      await createOneOfEach(app, tenant)
      expect((await countRows(tenant)).get('event')).toBeGreaterThan(0)
    }
    return sql.execute(sent, parameters)
  }
  const database = { sql: { execute, query: sql.query.bind(sql) } } as never
  await deleteTenant(database, tenant.tenantAppId, { onProgress: () => undefined })
  expect([...(await countRows(tenant))].filter(([, count]) => count > 0)).toEqual([])
})
