import { setTimeout } from 'node:timers/promises'
import { dataModel } from '@fusion-gateway/database'
import { insertRows } from '@fusion-gateway/prisma-trees'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEventLog } from '../../src/domain/event/event-log.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { settleEvents } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { jobClient, present } from '../support/jobs.ts'
import { isDistributed } from '../support/postgresql.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

interface Event {
  readonly id: string
  readonly type: string
  readonly resourceId: string
  readonly userId: string | null
  readonly keyId: string | null
  readonly requestId: string | null
}

interface Events {
  readonly events: {
    readonly nodes: Event[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}

const eventsQuery = `query ($first: Int, $last: Int, $after: String, $before: String, $filter: EventFilter) {
  events(first: $first, last: $last, after: $after, before: $before, filter: $filter) {
    nodes { id type resourceId userId keyId requestId }
    pageInfo { hasNextPage endCursor }
  }
}`

async function list(variables: object = {}, of = tenant) {
  await settleEvents(app)
  const { data, errors } = await app.graphql<Events>(of, eventsQuery, { first: 500, ...variables })
  expect(errors).toBeUndefined()
  return data.events
}

/** The events that work causes. */
async function eventsOf(work: () => Promise<unknown>, of = tenant): Promise<Event[]> {
  await settleEvents(app)
  const after = (await app.graphql<Events>(of, eventsQuery, { last: 1 })).data.events.nodes.at(-1)?.id ?? null
  await work()
  return (await list({ after }, of)).nodes
}

const typesOf = (events: readonly Event[]) => events.map(({ type }) => type)

async function mutate<Result = { id: string }>(name: string, input: object, result: string): Promise<Result> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const selected = result.startsWith('deleted') || result.startsWith('unlinked') ? result : `${result} { id }`
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { ${selected} userErrors { field message } } }`
  const { data, errors } = await app.graphql<Record<string, Record<string, unknown>>>(tenant, query, { input })
  expect(errors).toBeUndefined()
  expect(data[name]?.['userErrors']).toEqual([])
  return data[name]?.[result] as Result
}

const createUser = () => mutate('createUser', { name: 'Ada', email: 'ada@example.com', phone: '1' }, 'user')
let number = 0
const linkAccount = (userId: string) => {
  number += 1
  const account = { userId, platform: 'YOUTUBE', platformAccountId: `c${number}`, displayName: 'Ada' }
  return mutate('linkAccount', account, 'account')
}

describe('the event log', () => {
  it('has one event for each change, with the key and the request that made it', async () => {
    const user = await createUser()
    const account = await linkAccount(user.id)
    const profile = await mutate(
      'syncProfile',
      { accountId: account.id, emails: [{ value: 'a@example.com' }] },
      'profile',
    )
    const events = await eventsOf(async () => {
      await mutate('updateUser', { id: user.id, name: 'Ada L.' }, 'user')
      await mutate('updateAccount', { id: account.id, status: 'EXPIRED' }, 'account')
      await mutate('syncProfile', { accountId: account.id, followersCount: 1, emails: [] }, 'profile')
      await mutate('deleteUser', { id: user.id }, 'deletedUserId')
    })
    const of = { userId: user.id, keyId: tenant.keyId, requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) }
    expect(events.slice(0, 3)).toEqual([
      expect.objectContaining({ type: 'USER_UPDATED', resourceId: user.id, ...of }),
      expect.objectContaining({ type: 'ACCOUNT_UPDATED', resourceId: account.id, ...of }),
      expect.objectContaining({ type: 'PROFILE_SYNCED', resourceId: profile.id, ...of }),
    ])
    // Between resources no order is promised.
    expect(events.slice(3).toSorted((one, other) => (one.type < other.type ? -1 : 1))).toEqual([
      expect.objectContaining({ type: 'ACCOUNT_UNLINKED', resourceId: account.id, ...of }),
      expect.objectContaining({ type: 'USER_DELETED', resourceId: user.id, ...of }),
    ])
    expect(new Set(events.map(({ requestId }) => requestId)).size).toBe(4)
  })

  it('has no event for an update or a sync that changes nothing', async () => {
    const user = await createUser()
    const account = await linkAccount(user.id)
    const profile = { accountId: account.id, followersCount: 7, emails: [{ value: 'a@example.com' }] }
    await mutate('syncProfile', profile, 'profile')
    const events = await eventsOf(async () => {
      await mutate('updateUser', { id: user.id, name: 'Ada' }, 'user')
      await mutate('updateAccount', { id: account.id, displayName: 'Ada' }, 'account')
      await mutate('syncProfile', profile, 'profile')
    })
    expect(events).toEqual([])
  })

  it('keeps the time of the last change when an update or a sync changes nothing', async () => {
    const user = await createUser()
    const account = await linkAccount(user.id)
    const phoneNumbers = [{ number: '1' }]
    const profile = {
      accountId: account.id,
      followersCount: 7,
      phoneNumbers,
      emails: [{ value: 'a@example.com' }, { value: 'b@example.com' }],
    }
    const { id } = await mutate('syncProfile', profile, 'profile')
    const times = async () => {
      const { prisma } = app.database
      const where = { tenantAppId: tenant.tenantAppId }
      return {
        user: (await prisma.user.findFirstOrThrow({ where: { ...where, id: user.id } })).updatedAt,
        account: (await prisma.account.findFirstOrThrow({ where: { ...where, id: account.id } })).updatedAt,
        profile: (await prisma.profile.findFirstOrThrow({ where: { ...where, id } })).updatedAt,
      }
    }
    const before = await times()
    await setTimeout(5)
    await mutate('updateUser', { id: user.id, name: 'Ada' }, 'user')
    await mutate('updateAccount', { id: account.id, displayName: 'Ada' }, 'account')
    await mutate('syncProfile', { ...profile, emails: profile.emails.toReversed() }, 'profile')
    await mutate('syncProfile', { accountId: account.id }, 'profile')
    expect(await times()).toEqual(before)

    await mutate('updateUser', { id: user.id, name: 'Ada L.', phone: '1' }, 'user')
    await mutate('updateAccount', { id: account.id, displayName: 'Ada L.' }, 'account')
    await mutate(
      'syncProfile',
      { accountId: account.id, emails: [{ value: 'a@example.com', isPrimary: true }] },
      'profile',
    )
    const after = await times()
    for (const name of ['user', 'account', 'profile'] as const) expect(after[name] > before[name]).toBe(true)
    await mutate('syncProfile', { accountId: account.id, phoneNumbers: [] }, 'profile')
    expect((await times()).profile > after.profile).toBe(true)
  })

  it('has one event for a sync that changes only emails', async () => {
    const account = await linkAccount((await createUser()).id)
    await mutate('syncProfile', { accountId: account.id, emails: [{ value: 'a@example.com' }] }, 'profile')
    const emails = [{ value: 'b@example.com' }, { value: 'c@example.com' }]
    const events = await eventsOf(() => mutate('syncProfile', { accountId: account.id, emails }, 'profile'))
    expect(typesOf(events)).toEqual(['PROFILE_SYNCED'])
  })

  it('has the event of an email also if a user and an account with the id of its profile changed before', async () => {
    const make = factoriesFor(app, tenant)
    const { id } = await make.user({ id: '77' })
    const account = await make.account(id, { id })
    await make.profile(account, { id })
    await make.email(id, { id })
    const events = await eventsOf(() =>
      app.database.runAsOwner(`
        BEGIN; UPDATE "user" SET name = 'New' WHERE id = '${id}'; UPDATE account SET display_name = 'New' WHERE id = '${id}';
        UPDATE email_record SET value = 'new@example.com' WHERE id = '${id}'; COMMIT`),
    )
    expect(typesOf(events).toSorted()).toEqual(['ACCOUNT_UPDATED', 'PROFILE_SYNCED', 'USER_UPDATED'])
  })

  it('has the life of a job, but not the extensions of its lease', async () => {
    const call = jobClient(app, tenant)
    const events = await eventsOf(async () => {
      const { id } = present((await call('createJob', { jobType: 'life', maxAttempts: 1 })).job)
      const work = async () => {
        const { data } = await app.graphql<{ claimJobs: { leases: { leaseToken: string }[] } }>(
          tenant,
          'mutation { claimJobs(input: { jobTypes: ["life"] }) { leases { leaseToken } } }',
        )
        return { id, leaseToken: present(data.claimJobs.leases[0]).leaseToken }
      }
      const held = await work()
      await call('extendJobLease', held)
      await call('reportJobProgress', { ...held, progress: 0.5 })
      await call('failJob', { ...held, code: 'X', message: 'x' })
      await call('retryJob', { id })
      await call('completeJob', { ...(await work()), result: {} })
    })
    expect(typesOf(events)).toEqual([
      'JOB_CREATED',
      'JOB_STARTED',
      'JOB_UPDATED',
      'JOB_FAILED',
      'JOB_RETRIED',
      'JOB_STARTED',
      'JOB_SUCCEEDED',
    ])
    expect(events.every(({ keyId, userId }) => keyId === tenant.keyId && userId === null)).toBe(true)
  })

  it('has the changes of every other writer, without a key', async () => {
    const make = factoriesFor(app, tenant)
    const events = await eventsOf(async () => {
      const user = await make.user()
      await make.profile(await make.account(user.id))
      await insertRows(app.database.sql, dataModel('User'), [
        { tenantAppId: tenant.tenantAppId, id: 'usr_bulk_1', name: 'A', email: 'a', updatedAt: new Date() },
        { tenantAppId: tenant.tenantAppId, id: 'usr_bulk_2', name: 'B', email: 'b', updatedAt: new Date() },
      ])
      await app.database.sql.runScript(`UPDATE "user" SET name = 'C' WHERE id LIKE 'usr_bulk_%'`)
    })
    expect(typesOf(events)).toEqual([
      'USER_CREATED',
      'ACCOUNT_LINKED',
      'PROFILE_SYNCED',
      'USER_CREATED',
      'USER_CREATED',
      'USER_UPDATED',
      'USER_UPDATED',
    ])
    expect(events.every(({ keyId, requestId }) => keyId === null && requestId === null)).toBe(true)
  })

  // A distributed database gets no tables, and its writes have their actor from their transaction.
  it.skipIf(isDistributed)(
    'has the changes of a table that a later migration adds, with one trigger for each kind of change',
    async () => {
      await app.database.runAsOwner(`
      CREATE TABLE note (tenant_app_id text, id text, user_id text, text text, updated_at timestamptz, PRIMARY KEY (tenant_app_id, id));
      CREATE TRIGGER inserted AFTER INSERT ON note REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
        EXECUTE FUNCTION write_events('NOTE_CREATED', 'NOTE_UPDATED', 'NOTE_DELETED');
      CREATE TRIGGER updated AFTER UPDATE ON note FOR EACH ROW
        EXECUTE FUNCTION write_events('NOTE_CREATED', 'NOTE_UPDATED', 'NOTE_DELETED');
      CREATE TRIGGER deleted AFTER DELETE ON note REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT
        EXECUTE FUNCTION write_events('NOTE_CREATED', 'NOTE_UPDATED', 'NOTE_DELETED');
      INSERT INTO note VALUES ('${tenant.tenantAppId}', 'not_1', 'usr_1', 'x');
      UPDATE note SET text = 'y', updated_at = now();
      UPDATE note SET text = 'y', updated_at = now();
      DELETE FROM note;`)
      const rows = await app.database.prisma.event.findMany({
        where: { tenantAppId: tenant.tenantAppId, resourceId: 'not_1' },
        orderBy: { id: 'asc' },
      })
      expect(rows.map(({ type, userId }) => [type, userId])).toEqual([
        ['NOTE_CREATED', 'usr_1'],
        ['NOTE_UPDATED', 'usr_1'],
        ['NOTE_DELETED', 'usr_1'],
      ])
      await app.database.runAsOwner(`DROP TABLE note; DELETE FROM event WHERE resource_id = 'not_1'`)
    },
  )

  it('is deleted with its tenant', async () => {
    const other = await app.createTenant()
    await factoriesFor(app, other).user()
    await app.database.prisma.tenantApp.delete({ where: { id: other.tenantAppId } })
    expect(await app.database.prisma.event.count({ where: { tenantAppId: other.tenantAppId } })).toBe(0)
  })

  it.skipIf(isDistributed)('costs a mutation no statement', async () => {
    const statements = await app.statementsOf(createUser)
    expect(statements).toEqual([
      expect.stringMatching(/^INSERT INTO "user" .* RETURNING set_config\('fusion.actor', \$10, true\) IS NULL$/),
    ])
  })
})

describe('query { events }', () => {
  it('returns pages in both directions, by one statement each', async () => {
    const own = await app.createTenant()
    const make = factoriesFor(app, own)
    const users = [await make.user(), await make.user(), await make.user(), await make.user()].map(({ id }) => id)
    const first = await list({ first: 2 }, own)
    expect(first.nodes.map(({ resourceId }) => resourceId)).toEqual(users.slice(0, 2))
    expect(first.pageInfo).toEqual({ hasNextPage: true, endCursor: first.nodes[1]?.id })
    const statements = await app.statementsOf(async () => {
      const variables = { first: 500, after: first.pageInfo.endCursor }
      const next = (await app.graphql<Events>(own, eventsQuery, variables)).data.events
      expect(next.nodes.map(({ resourceId }) => resourceId)).toEqual(users.slice(2))
      expect(next.pageInfo.hasNextPage).toBe(false)
    })
    expect(statements).toHaveLength(1)
    await settleEvents(app)
    const end = await app.graphql<Events>(own, eventsQuery, { last: 3 })
    expect(end.data.events.nodes.map(({ resourceId }) => resourceId)).toEqual(users.slice(1))
  })

  it('filters by type and by resource', async () => {
    const own = await app.createTenant()
    const make = factoriesFor(app, own)
    const user = await make.user()
    const account = await make.account(user.id)
    await app.database.prisma.account.updateMany({ where: { id: account.id }, data: { displayName: 'New' } })
    expect(typesOf((await list({ filter: { resourceId: account.id } }, own)).nodes)).toEqual([
      'ACCOUNT_LINKED',
      'ACCOUNT_UPDATED',
    ])
    expect(typesOf((await list({ filter: { types: ['USER_CREATED', 'ACCOUNT_UPDATED'] } }, own)).nodes)).toEqual([
      'USER_CREATED',
      'ACCOUNT_UPDATED',
    ])
    expect((await list({ filter: { types: [] } }, own)).nodes).toEqual([])
    expect((await list({ filter: { resourceId: 'a\0' } }, own)).nodes).toEqual([])
  })

  it('filters by resource the events of all types that have the id, and by type those of one', async () => {
    const own = await app.createTenant()
    const make = factoriesFor(app, own)
    await make.user({ id: '77' })
    await make.job({ id: '77' })
    const { nodes } = await list({ filter: { resourceId: '77' } }, own)
    expect(typesOf(nodes).toSorted()).toEqual(['JOB_CREATED', 'USER_CREATED'])
    const ofJob = await list({ filter: { resourceId: '77', types: ['JOB_CREATED', 'JOB_FAILED'] } }, own)
    expect(typesOf(ofJob.nodes)).toEqual(['JOB_CREATED'])
  })

  it('filters by the time of creation, with the other conditions, and from both ends', async () => {
    const own = await app.createTenant()
    const make = factoriesFor(app, own)
    const user = await make.user()
    const accounts = [await make.account(user.id), await make.account(user.id), await make.account(user.id)]
    const timeOf = (hour: number) => `2026-11-27T0${hour}:00:00.000Z`
    await settleEvents(app)
    // The log has the order of the writes. Of a transaction that began early and wrote late, the time is earlier.
    for (const [index, hour] of [3, 1, 2].entries()) {
      const of = `tenant_app_id = '${own.tenantAppId}' AND resource_id = '${accounts[index]?.id}'`
      await app.database.runAsOwner(`UPDATE event SET created_at = '${timeOf(hour)}' WHERE ${of}`)
    }
    const found = async (filter: object, page: object = {}) =>
      (await list({ filter, ...page }, own)).nodes.map(({ resourceId }) =>
        accounts.findIndex(({ id }) => id === resourceId),
      )
    const userCreated = -1
    expect(await found({ createdAfter: timeOf(1) })).toEqual([userCreated, 0, 2])
    expect(await found({ createdBefore: timeOf(3) })).toEqual([1, 2])
    expect(await found({ createdAfter: timeOf(1), createdBefore: timeOf(3) })).toEqual([2])
    expect(await found({ createdAfter: timeOf(1), types: ['ACCOUNT_LINKED'] })).toEqual([0, 2])
    expect(await found({ createdBefore: timeOf(3), userId: user.id }, { first: null, last: 1 })).toEqual([2])
    expect(await found({ createdAfter: null, createdBefore: null })).toEqual([userCreated, 0, 1, 2])
    expect(await found({ createdAfter: timeOf(3), createdBefore: timeOf(1) })).toEqual([])
    const { data } = await app.graphql<{ events: { pageInfo: object } }>(
      own,
      `{ events(first: 1, filter: { createdBefore: "${timeOf(3)}" }) { pageInfo { hasNextPage hasPreviousPage } } }`,
    )
    expect(data.events.pageInfo).toEqual({ hasNextPage: true, hasPreviousPage: false })
  })

  it('filters by user, and the token of a user sees no other', async () => {
    const own = await app.createTenant()
    const make = factoriesFor(app, own)
    const [one, two] = [await make.user(), await make.user()]
    await make.account(one.id)
    await make.job()
    const ofOne = ['USER_CREATED', 'ACCOUNT_LINKED']
    expect(typesOf((await list({ filter: { userId: one.id } }, own)).nodes)).toEqual(ofOne)
    expect(typesOf((await list({ filter: { userId: one.id, types: ['ACCOUNT_LINKED'] } }, own)).nodes)).toEqual([
      'ACCOUNT_LINKED',
    ])
    for (const userId of ['nobody', 'a\0']) expect((await list({ filter: { userId } }, own)).nodes).toEqual([])
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
      own,
      'mutation ($userId: ID) { createAccessToken(input: { userId: $userId, scopes: ["events:read"] }) { accessToken } }',
      { userId: one.id },
    )
    const viewer = { ...own, token: data.createAccessToken.accessToken }
    const query = 'query ($userId: ID) { events(filter: { userId: $userId }) { nodes { type } } }'
    const seen = async (userId: string | null) =>
      (await app.graphql<{ events: { nodes: { type: string }[] } }>(viewer, query, { userId })).data.events.nodes.map(
        ({ type }) => type,
      )
    expect([await seen(null), await seen(one.id), await seen(two.id)]).toEqual([ofOne, ofOne, []])
  })

  it('returns the resources as they are now, with one statement per type', async () => {
    const own = await app.createTenant()
    const make = factoriesFor(app, own)
    const [one, other] = [await make.user({ name: 'One' }), await make.user()]
    const job = await make.job()
    await app.database.prisma.user.deleteMany({ where: { id: other.id } })
    const query = '{ events { nodes { type node { id ... on User { name } ... on Job { status } } } } }'
    await settleEvents(app)
    const statements = await app.statementsOf(async () => {
      const { data } = await app.graphql(own, query)
      expect(data).toEqual({
        events: {
          nodes: [
            { type: 'USER_CREATED', node: { id: one.id, name: 'One' } },
            { type: 'USER_CREATED', node: null },
            { type: 'JOB_CREATED', node: { id: job.id, status: 'PENDING' } },
            { type: 'USER_DELETED', node: null },
          ],
        },
      })
    })
    expect(statements).toHaveLength(3)
  })

  it('names the user whom each event is about as the user is now, with one statement for all', async () => {
    const own = await app.createTenant()
    const make = factoriesFor(app, own)
    const [one, other] = [await make.user({ name: 'One' }), await make.user()]
    const account = await make.account(one.id)
    await make.job()
    await app.database.prisma.account.deleteMany({ where: { id: account.id } })
    await app.database.prisma.user.deleteMany({ where: { id: other.id } })
    await settleEvents(app)
    const statements = await app.statementsOf(async () => {
      const { data } = await app.graphql(own, '{ events { nodes { type userId user { id name } } } }')
      const user = { id: one.id, name: 'One' }
      expect(data).toEqual({
        events: {
          nodes: [
            { type: 'USER_CREATED', userId: one.id, user },
            { type: 'USER_CREATED', userId: other.id, user: null },
            { type: 'ACCOUNT_LINKED', userId: one.id, user },
            { type: 'JOB_CREATED', userId: null, user: null },
            { type: 'ACCOUNT_UNLINKED', userId: one.id, user },
            { type: 'USER_DELETED', userId: other.id, user: null },
          ],
        },
      })
    })
    expect(statements).toHaveLength(2)
  })

  it('shows a token of a user the events of this user only', async () => {
    const own = await app.createTenant()
    const make = factoriesFor(app, own)
    const [user] = [await make.user(), await make.user(), await make.job()]
    const account = await make.account(user.id)
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
      own,
      'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
      { input: { userId: user.id, scopes: ['events:read'] } },
    )
    const bound = { ...own, token: data.createAccessToken.accessToken }
    expect((await list({}, bound)).nodes.map(({ resourceId }) => resourceId)).toEqual([user.id, account.id])
    const node = await app.graphql(bound, '{ events(first: 1) { nodes { node { id } } } }')
    expect(node.errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
  })

  it('shows no event of another tenant', async () => {
    const [one, other] = [await app.createTenant(), await app.createTenant()]
    const user = await factoriesFor(app, other).user()
    expect((await list({ filter: { resourceId: user.id } }, one)).nodes).toEqual([])
    expect((await list({}, one)).nodes).toEqual([])
  })

  it('rejects an id that is not one of an event, and says when events after an id have been removed', async () => {
    const own = await app.createTenant()
    const make = factoriesFor(app, own)
    for (let index = 0; index < 3; index += 1) await make.user()
    const [first, second] = (await list({}, own)).nodes
    const wrong = await app.graphql(own, eventsQuery, { after: 'usr_1' })
    expect(wrong.errors?.[0]).toMatchObject({
      message: expect.stringContaining('after'),
      extensions: { code: 'BAD_USER_INPUT' },
    })

    const where = { id: { in: [first?.id ?? '', second?.id ?? ''] } }
    await app.database.prisma.event.updateMany({ where, data: { createdAt: new Date('2026-01-01') } })
    expect(await createEventLog(app.database).removeOlderThan(30)).toBe(2)
    const missed = await app.graphql(own, eventsQuery, { after: first?.id })
    expect(missed.errors?.[0]?.message).toMatch(/is older than the events that are kept/)
    expect((await list({ after: second?.id }, own)).nodes).toHaveLength(1)
  })
})

describe.skipIf(isDistributed)('a backup that is restored into another server', () => {
  it('continues with greater ids, and its events can be read before and after the first write', async () => {
    const own = await app.createTenant()
    const make = factoriesFor(app, own)
    await make.user()
    await app.database.runAsOwner('UPDATE event_state SET server = server - 1')
    const [before] = (await list({}, own)).nodes
    const follower = await app.services.events.follow({ ...own, keyId: own.keyId })
    // A server knows the offset per session, and a restored database has only new sessions.
    await app.database.runAsOwner(`
      SELECT set_config('fusion.event_offset', '', false);
      INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) VALUES ('${own.tenantAppId}', 'usr_restored', 'A', 'a', now())`)
    const [, after] = (await list({}, own)).nodes
    expect(after?.resourceId).toBe('usr_restored')
    expect((await follower.next())?.map(({ resourceId }) => resourceId)).toEqual(['usr_restored'])
    follower.return()
    const transactionOf = (event: Event | undefined) => Number.parseInt(event?.id.slice(4, 16) ?? '', 16)
    expect(transactionOf(after)).toBeGreaterThan(2 * transactionOf(before))
  })
})
