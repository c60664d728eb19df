import { dataModel } from '@fusion-gateway/database'
import type { Column, Model } from '@fusion-gateway/prisma-trees'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'
import { isDistributed } from '../support/postgresql.ts'

// Each change of a user, account, profile or email, in each column, by each writer, has an event that names the user.
// A response can be kept until the log has such an event.

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())

/** The models, and the types of the events of an update. */
const models = {
  User: 'USER_UPDATED',
  Account: 'ACCOUNT_UPDATED',
  Profile: 'PROFILE_SYNCED',
  EmailRecord: 'PROFILE_SYNCED',
} as const satisfies Partial<Record<Model, string>>
const tables = Object.keys(models) as (keyof typeof models)[]
type Cached = (typeof tables)[number]

const every = tables.flatMap((model) =>
  dataModel(model).columns.map((column) => ({
    model,
    column,
    name: column.column,
    label: `${model}.${column.column}`,
  })),
)

/** The columns that say to whom a row belongs, and its id: a change of these has an event of the row as it was, too. */
const parents: Record<Cached, string> = {
  User: 'tenant_app_id',
  Account: 'user_id',
  Profile: 'account_id',
  EmailRecord: 'profile_id',
}
const isKey = (model: Cached, column: string) => ['tenant_app_id', 'id', parents[model]].includes(column)

/** A user with an account, its profile and an email. */
async function createTree(tenant: TestTenant, ids: { user?: string; account?: string; profile?: string } = {}) {
  const make = factoriesFor(app, tenant)
  const user = await make.user(ids.user === undefined ? {} : { id: ids.user })
  const account = await make.account(user.id, ids.account === undefined ? {} : { id: ids.account })
  const profile = await make.profile(account, ids.profile === undefined ? {} : { id: ids.profile })
  const email = await make.email(profile.id)
  return { tenant, User: user, Account: account, Profile: profile, EmailRecord: email }
}
type Tree = Awaited<ReturnType<typeof createTree>>

/** The events that work causes, or a script, which runs in a transaction of its own. */
async function eventsOf<Result>(work: string | (() => Promise<Result>), ...tenants: TestTenant[]) {
  const where = { tenantAppId: { in: tenants.map(({ tenantAppId }) => tenantAppId) } }
  await app.database.prisma.event.deleteMany({ where })
  const result = typeof work === 'string' ? await app.database.runAsOwner(work) : await work()
  const rows = await app.database.prisma.event.findMany({ where, orderBy: { id: 'asc' } })
  const events = rows.map(({ tenantAppId, type, resourceId, userId, accountId }) => {
    return { tenantAppId, type, resourceId, userId, accountId }
  })
  return { events, result: result as Result }
}

const whereIs = (tree: Tree, model: Cached) =>
  `WHERE tenant_app_id = '${tree.tenant.tenantAppId}' AND id = '${tree[model].id}'`
const update = (tree: Tree, model: Cached, set: string) =>
  `UPDATE "${dataModel(model).name}" SET ${set} ${whereIs(tree, model)}`

/** The event of an update of a row of a tree. */
function eventOf(tree: Tree, model: Cached) {
  const resource = model === 'EmailRecord' ? 'Profile' : model
  return {
    tenantAppId: tree.tenant.tenantAppId,
    type: models[model],
    resourceId: tree[resource].id,
    userId: tree.User.id,
    accountId: model === 'User' ? null : tree.Account.id,
  }
}

const otherValues: Readonly<Record<string, (column: string) => string>> = {
  text: (column) => `coalesce(${column}, '') || 'x'`,
  'text[]': (column) => `array_append(${column}, 'gender')`,
  json: () => `'[{"city":"Paris"}]'`,
  boolean: (column) => `NOT coalesce(${column}, false)`,
  bigint: (column) => `coalesce(${column}, 0) + 1`,
  'double precision': (column) => `coalesce(${column}, 0) + 1`,
  date: (column) => `coalesce(${column}, '2000-01-01') + 1`,
  account_status: () => `'EXPIRED'`,
}

/** An expression with another value that the column can have. */
function otherValue({ column, sqlType }: Column): string {
  if (sqlType.startsWith('timestamp')) return `coalesce(${column}, '2000-01-01') + interval '1 day'`
  const other = otherValues[sqlType.replaceAll('"', '')]
  if (!other) throw new Error(`Which value can the column ${column} get, of the type ${sqlType}?`)
  return other(column)
}

/** The fields of the schema that the event of a change of a column names. Each change writes its time. */
function fieldsOf(model: Cached, { field }: Column): string[] {
  if (model === 'EmailRecord') return ['emails']
  return field === 'updatedAt' ? [] : [field]
}

describe('an update by SQL', () => {
  it.each(every.filter(({ model, name }) => !isKey(model, name)))(
    'of $label alone has one event of the user',
    async ({ model, column }) => {
      const tenant = await app.createTenant()
      const tree = await createTree(tenant)
      const { events } = await eventsOf(update(tree, model, `${column.column} = ${otherValue(column)}`), tenant)
      // A sync that changes nothing has no event, and writes this time.
      const isSilent = model === 'Profile' && column.column === 'synced_at'
      expect(events).toEqual(isSilent ? [] : [eventOf(tree, model)])
      const { tenantAppId } = tenant
      const fields = await app.database.prisma.event.findMany({
        where: { tenantAppId },
        select: { changedFields: true },
      })
      expect(fields).toEqual(isSilent ? [] : [{ changedFields: fieldsOf(model, column) }])
    },
  )

  it.each(tables)('of a %s that changes nothing has none', async (model) => {
    const tenant = await app.createTenant()
    const tree = await createTree(tenant)
    const columns = dataModel(model).columns.map(({ column }) => column)
    const settable = isDistributed ? columns.filter((column) => column !== 'tenant_app_id') : columns
    const sets = settable.map((column) => `${column} = ${column}`)
    const { events } = await eventsOf(update(tree, model, sets.join(', ')), tenant)
    expect(events).toEqual([])
  })

  it.each(tables.slice(1))('that gives a %s to another user has an event of each', async (model) => {
    const tenant = await app.createTenant()
    const tree = await createTree(tenant)
    const make = factoriesFor(app, tenant)
    const user = await make.user()
    const account = await make.account(user.id)
    const profile = model === 'EmailRecord' ? await make.profile(account) : tree.Profile
    const [name, id] = {
      Account: ['user_id', user.id],
      Profile: ['account_id', account.id],
      EmailRecord: ['profile_id', profile.id],
    }[model as 'Account'] as [string, string]
    const { events } = await eventsOf(update(tree, model, `${name} = '${id}'`), tenant)
    const moved: Tree = {
      ...tree,
      User: user,
      Account: model === 'Account' ? tree.Account : account,
      Profile: profile,
    }
    expect(events).toHaveLength(2)
    expect(events).toEqual(expect.arrayContaining([eventOf(tree, model), eventOf(moved, model)]))
  })

  // Citus has no foreign keys that change the rows below.
  it.skipIf(isDistributed).each(tables)('of the id of a %s has an event of each id', async (model) => {
    const tenant = await app.createTenant()
    const tree = await createTree(tenant)
    const { events } = await eventsOf(update(tree, model, `id = id || '_new'`), tenant)
    const moved: Tree = { ...tree, [model]: { ...tree[model], id: `${tree[model].id}_new` } }
    expect(events).toEqual(expect.arrayContaining([eventOf(tree, model), eventOf(moved, model)]))
  })

  // With partitions, some of these move a row to another partition and others do not.
  it.skipIf(isDistributed).each(tables.flatMap((model) => Array.from({ length: 4 }, () => model)))(
    'that gives a %s to another tenant has an event of each',
    async (model) => {
      const [tenant, other] = [await app.createTenant(), await app.createTenant()]
      const tree = await createTree(tenant)
      // The rows above must exist.
      const make = factoriesFor(app, other)
      const at = tables.indexOf(model)
      if (at > 0) await make.user({ id: tree.User.id })
      const account = at > 1 ? await make.account(tree.User.id, { id: tree.Account.id }) : undefined
      if (at > 2 && account) await make.profile(account, { id: tree.Profile.id })
      const { events } = await eventsOf(update(tree, model, `tenant_app_id = '${other.tenantAppId}'`), tenant, other)
      const moved = { ...tree, tenant: other }
      expect(events).toEqual(expect.arrayContaining([eventOf(tree, model), eventOf(moved, model)]))
    },
  )

  it('has tested every column', () => {
    expect(every.length).toBeGreaterThan(50)
    for (const model of tables) expect(dataModel(model).columns.map(({ column }) => column)).toContain(parents[model])
  })
})

describe('an insertion or a deletion', () => {
  it('of each has an event of the user', async () => {
    const tenant = await app.createTenant()
    const { events, result } = await eventsOf(() => createTree(tenant), tenant)
    const types = ['USER_CREATED', 'ACCOUNT_LINKED', 'PROFILE_SYNCED', 'PROFILE_SYNCED']
    expect(events).toEqual(tables.map((model, index) => ({ ...eventOf(result, model), type: types[index] })))
  })

  it.each([
    ['User', ['USER_DELETED', 'ACCOUNT_UNLINKED']],
    // A profile that is deleted with its account, and an email that is deleted with its profile, have no events.
    ['Account', ['ACCOUNT_UNLINKED']],
    ['Profile', ['PROFILE_SYNCED']],
    ['EmailRecord', ['PROFILE_SYNCED']],
  ] as const)('of a %s by SQL has the events %s', async (model, types) => {
    const tenant = await app.createTenant()
    const tree = await createTree(tenant)
    const { events } = await eventsOf(`DELETE FROM "${dataModel(model).name}" ${whereIs(tree, model)}`, tenant)
    const expected = types.map((type) => ({ ...eventOf(tree, type === 'ACCOUNT_UNLINKED' ? 'Account' : model), type }))
    expect(events).toHaveLength(expected.length)
    expect(events).toEqual(expect.arrayContaining(expected))
  })
})
