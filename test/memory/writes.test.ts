import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'
import { hasServer, isDistributed } from '../support/postgresql.ts'

// After each kind of write by SQL, everything that was kept equals what is read. Citus refuses many of these writes.

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ responseCacheBytes: 16 * 1024 * 1024 })
})
afterAll(() => app.close())

/** Two users with an account, its profile and an email each, and what clients ask of them. */
async function createPeople() {
  const tenant = await app.createTenant()
  const make = factoriesFor(app, tenant)
  const createPerson = async (name: string) => {
    const user = await make.user({ id: `usr_${name}`, name })
    const account = await make.account(user.id, { id: `acc_${name}`, platformAccountId: name })
    const profile = await make.profile(account, { id: `pro_${name}`, username: name, followersCount: 5n })
    await make.email(profile.id, { id: `eml_${name}`, value: `${name}@example.com` })
    const input = { userId: user.id, scopes: ['users:read', 'contacts:read', 'profiles:read'] }
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
      tenant,
      'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
      { input },
    )
    return { ...tenant, token: data.createAccessToken.accessToken }
  }
  return { tenant, viewers: [tenant, await createPerson('ada'), await createPerson('bea')] }
}

const profile = 'profile { id username followersCount emails { id value } }'
const tree = `id name accounts { id displayName status ${profile} }`
const queries: readonly (readonly [query: string, variables?: object])[] = [
  ...['ada', 'bea'].flatMap((name) => [
    [`query ($id: ID!) { user(id: $id) { ${tree} } }`, { id: `usr_${name}` }] as const,
    [`{ account(id: "acc_${name}") { id displayName ${profile} } }`] as const,
    [`{ profiles(accountIds: ["acc_${name}"]) { id username emails { value profile { id } } } }`] as const,
  ]),
  [
    'query ($ids: [ID!]!) { profiles(accountIds: $ids) { username emails { value } } }',
    { ids: ['acc_ada', 'acc_new'] },
  ],
  [`{ users(first: 10) { totalCount nodes { ${tree} } } }`],
  ['{ accounts(filter: { user: { nameContains: "a" } }) { nodes { id user { name } } } }'],
  ['{ searchProfiles(orderBy: { field: FOLLOWERS_COUNT, direction: ASC }) { nodes { username account { id } } } }'],
  ['{ userStats { count } profileStats { count followers { sum } } }'],
]
const paths = ['/users/usr_ada', '/accounts/acc_ada', '/accounts/acc_bea/profile', '/users?limit=10']

/** Sends each request of each viewer. Returns what the responses have besides their cost. */
async function askAll(viewers: readonly TestTenant[], headers: object = {}) {
  const requests = viewers.flatMap((viewer, number) => {
    const credential =
      viewer.token === undefined ? { 'x-api-key': viewer.key } : { authorization: `Bearer ${viewer.token}` }
    const own = { headers: { ...credential, ...headers } }
    return [
      ...queries.map(([query, variables]) => {
        const payload = { query, variables }
        return {
          name: `${number} ${query}`,
          send: () => app.app.inject({ ...own, method: 'POST', url: '/graphql', payload }),
        }
      }),
      ...paths.map((url) => ({ name: `${number} ${url}`, send: () => app.app.inject({ ...own, url }) })),
    ]
  })
  const responses = await Promise.all(requests.map(async ({ name, send }) => ({ name, response: await send() })))
  return responses.map(({ name, response }) => {
    const { data, errors, instance: _instance, request_id: _id, ...rest } = response.json()
    const { etag, 'cache-status': cacheStatus } = response.headers
    return { name, seen: { etag, ...(data ? { data, errors } : rest) }, cacheStatus }
  })
}

const writes: Readonly<Record<string, string>> = {
  'an update that changes nothing': `UPDATE "user" SET name = name`,
  'an update of another user': `UPDATE "user" SET name = 'New' WHERE id = 'usr_bea'`,
  'an update from a join': `UPDATE profile SET username = account.display_name FROM account WHERE account.id = profile.account_id`,
  'a change of the status': `UPDATE account SET status = 'EXPIRED' WHERE id = 'acc_ada'`,
  'a change of an email': `UPDATE email_record SET value = 'new@example.com' WHERE id = 'eml_ada'`,
  'a change of two tables in one statement': `
    WITH renamed AS (UPDATE account SET display_name = 'New' WHERE id = 'acc_ada' RETURNING id)
    UPDATE profile SET username = 'new' FROM renamed WHERE account_id = renamed.id`,
  'an insertion of a tree': `
    WITH created AS (INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, updated_at)
      SELECT tenant_app_id, 'acc_new', 'usr_ada', 'X', 'new', 'New', now() FROM "user" WHERE id = 'usr_ada' RETURNING *)
    INSERT INTO profile (tenant_app_id, id, account_id, platform, platform_account_id, updated_at)
      SELECT tenant_app_id, 'pro_new', id, platform, platform_account_id, now() FROM created`,
  'an insertion of a user': `
    INSERT INTO "user" (tenant_app_id, id, name, email, updated_at) SELECT tenant_app_id, 'usr_new', 'New', 'n', now() FROM "user" LIMIT 1`,
  'ON CONFLICT DO UPDATE': `
    INSERT INTO "user" SELECT * FROM "user" ON CONFLICT (tenant_app_id, id) DO UPDATE SET name = excluded.name || '!';
    INSERT INTO email_record SELECT * FROM email_record ON CONFLICT (tenant_app_id, id) DO UPDATE SET value = '!' || excluded.value`,
  'ON CONFLICT DO NOTHING': `INSERT INTO "user" SELECT * FROM "user" ON CONFLICT DO NOTHING`,
  'a deletion of an email': `DELETE FROM email_record WHERE id = 'eml_ada'`,
  'a deletion of a profile': `DELETE FROM profile WHERE id = 'pro_ada'`,
  'a deletion of an account': `DELETE FROM account WHERE id = 'acc_ada'`,
  'a deletion of a user': `DELETE FROM "user" WHERE id = 'usr_ada'`,
  'a deletion of everything': `DELETE FROM "user"`,
  'a row that is deleted and created again': `
    BEGIN;
    CREATE TEMPORARY TABLE old_email ON COMMIT DROP AS SELECT * FROM email_record WHERE id = 'eml_ada';
    DELETE FROM email_record WHERE id = 'eml_ada';
    UPDATE old_email SET value = 'again@example.com';
    INSERT INTO email_record SELECT * FROM old_email;
    COMMIT`,
  'an account of another user': `UPDATE account SET user_id = 'usr_bea' WHERE id = 'acc_ada'`,
  'accounts that change their users': `UPDATE account SET user_id = CASE user_id WHEN 'usr_ada' THEN 'usr_bea' ELSE 'usr_ada' END`,
  'a profile of another account': `
    DELETE FROM profile WHERE id = 'pro_bea'; UPDATE profile SET account_id = 'acc_bea' WHERE id = 'pro_ada'`,
  'an email of another profile': `UPDATE email_record SET profile_id = 'pro_bea' WHERE id = 'eml_ada'`,
  'another id of a user': `UPDATE "user" SET id = 'usr_renamed' WHERE id = 'usr_ada'`,
  'another id of an account': `UPDATE account SET id = 'acc_new' WHERE id = 'acc_ada'`,
  'another id of a profile': `UPDATE profile SET id = 'pro_new' WHERE id = 'pro_ada'`,
  'a savepoint that is rolled back': `
    BEGIN; SAVEPOINT one; UPDATE email_record SET value = 'lost@example.com'; ROLLBACK TO one;
    UPDATE email_record SET value = 'kept@example.com' WHERE id = 'eml_bea'; COMMIT`,
  'a transaction that is rolled back': `BEGIN; UPDATE "user" SET name = 'Lost'; ROLLBACK`,
  'many savepoints': `
    DO $$ BEGIN
      FOR number IN 1..200 LOOP
        BEGIN
          UPDATE profile SET followers_count = number WHERE id = 'pro_ada';
          IF number % 3 = 0 THEN RAISE EXCEPTION 'undone'; END IF;
        EXCEPTION WHEN raise_exception THEN NULL;
        END;
      END LOOP;
    END $$`,
  'a serializable transaction': `
    BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM "user"; UPDATE "user" SET name = 'New' WHERE id = 'usr_ada'; COMMIT`,
  'a session without a search path': `
    BEGIN; SET LOCAL search_path = ''; UPDATE public."user" SET name = 'New' WHERE id = 'usr_ada'; COMMIT`,
  'a cursor': `
    BEGIN; DECLARE one CURSOR FOR SELECT id FROM account FOR UPDATE; FETCH one;
    UPDATE account SET display_name = 'New' WHERE CURRENT OF one; COMMIT`,
  'a TRUNCATE of the log': `UPDATE "user" SET name = 'New' WHERE id = 'usr_ada'; TRUNCATE event`,
  MERGE: `
    MERGE INTO "user" AS target USING (SELECT tenant_app_id, id FROM "user") AS source
      ON target.tenant_app_id = source.tenant_app_id AND target.id = source.id
      WHEN MATCHED AND target.id = 'usr_ada' THEN UPDATE SET name = 'Merged' WHEN MATCHED THEN DELETE`,
}

describe.skipIf(isDistributed)('what was kept equals what is read after', () => {
  it.each(Object.entries(writes))('%s', async (_name, script) => {
    await app.database.runAsOwner('DELETE FROM "user"')
    const { viewers } = await createPeople()
    const before = await askAll(viewers)
    await askAll(viewers)
    const kept = await askAll(viewers)
    // Missing rows are kept too, and errors are not: the accounts of another user.
    expect(kept.filter(({ cacheStatus }) => cacheStatus === 'fusion; hit').length).toBeGreaterThan(30)
    expect(kept.map(({ seen }) => seen)).toEqual(before.map(({ seen }) => seen))
    await app.database.runAsOwner(script)
    const after = await askAll(viewers)
    const read = await askAll(viewers, { 'cache-control': 'no-cache' })
    expect(read.map(({ cacheStatus }) => cacheStatus)).not.toContain('fusion; hit')
    for (const [index, { name, seen }] of after.entries())
      expect({ name, seen }).toEqual({ name, seen: read[index]?.seen })
  })
})

// Without partitions, PostgreSQL rejects it.
it.skipIf(!hasServer || isDistributed)(
  'an email of a profile that its transaction does not see is shown, or rejected',
  async () => {
    const { tenant } = await createPeople()
    const make = factoriesFor(app, tenant)
    const session = new pg.Client({ connectionString: app.database.url })
    await session.connect()
    await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM "user"')
    const account = await make.account('usr_ada')
    const { id } = await make.profile(account)
    const query = `{ user(id: "usr_ada") { accounts { profile { emails { value } } } } }`
    const text = async () => JSON.stringify((await app.graphql(tenant, query)).data)
    for (let times = 0; times < 3; times += 1) expect(await text()).not.toContain('late')
    const insert = `INSERT INTO email_record (tenant_app_id, id, profile_id, value, updated_at) VALUES ($1, 'eml_late', $2, 'late', now())`
    const isWritten = await session.query(insert, [tenant.tenantAppId, id]).then(
      () => true,
      () => false,
    )
    await session.query('COMMIT')
    await session.end()
    expect((await text()).includes('late')).toBe(isWritten)
    expect(isWritten).toBe(process.env['TEST_PARTITIONS'] !== undefined)
  },
)
