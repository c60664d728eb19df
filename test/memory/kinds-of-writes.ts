import type { TestApp, TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'

// Kinds of writes by SQL, and what clients ask of the rows that they change.

/** Leaves out of a text what tells the ids of one type from those of another: `'acc_ada'` ⇒ `'ada'`. */
export const withEqualIds = (text: string) => text.replaceAll(/\b(?:usr|acc|pro|eml)_(?=ada|bea|new|renamed)/g, '')

/**
 * Two users with an account, its profile and an email each, and what clients ask of them.
 *
 * @param named {@link withEqualIds}, or what leaves ids as they are
 */
export async function createPeople(app: TestApp, named = (text: string) => text) {
  const tenant = await app.createTenant()
  const make = factoriesFor(app, tenant)
  const createPerson = async (name: string) => {
    const user = await make.user({ id: named(`usr_${name}`), name })
    const account = await make.account(user.id, { id: named(`acc_${name}`), platformAccountId: name })
    const profile = await make.profile(account, { id: named(`pro_${name}`), username: name, followersCount: 5n })
    await make.email(profile.id, { id: named(`eml_${name}`), value: `${name}@example.com` })
    const input = { userId: user.id, scopes: ['users:read', 'contacts:read', 'profiles:read'] }
    const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
      tenant,
      'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
      { input },
    )
    return { ...tenant, token: data.createAccessToken.accessToken }
  }
  return { tenant, viewers: [tenant, await createPerson('ada'), await createPerson('bea')] as const }
}

const profile = 'profile { id username followersCount emails { id value } }'
const tree = `id name accounts { id displayName status ${profile} }`
export const queries: readonly (readonly [query: string, variables?: object])[] = [
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
export const paths = ['/users/usr_ada', '/accounts/acc_ada', '/accounts/acc_bea/profile', '/users?limit=10']

/** A query or a path that a viewer asks for. */
export interface Asked {
  readonly viewer: TestTenant
  readonly name: string
  readonly query?: (typeof queries)[number]
}

/** Sends each request. Returns what the responses have besides their cost. */
export function ask(app: TestApp, asked: readonly Asked[], headers: object = {}) {
  return Promise.all(
    asked.map(async ({ viewer, name, query: document }) => {
      const [query, variables] = document ?? []
      const credential =
        viewer.token === undefined ? { 'x-api-key': viewer.key } : { authorization: `Bearer ${viewer.token}` }
      const own = { headers: { ...credential, ...headers } }
      const response =
        query === undefined
          ? await app.app.inject({ ...own, url: name })
          : await app.app.inject({ ...own, method: 'POST', url: '/graphql', payload: { query, variables } })
      const { data, errors, instance: _instance, request_id: _id, ...rest } = response.json()
      const { etag, 'cache-status': cacheStatus } = response.headers
      return { name, viewer: viewer.token, seen: { etag, ...(data ? { data, errors } : rest) }, cacheStatus }
    }),
  )
}

/** All queries and paths of a viewer. */
export const allOf = (viewer: TestTenant, named = (text: string) => text): Asked[] => [
  ...queries.map(([query, variables]) => {
    const name = named(query)
    const asked = variables && JSON.parse(named(JSON.stringify(variables)))
    return { viewer, name, query: [name, asked] as const }
  }),
  ...paths.map((path) => ({ viewer, name: named(path) })),
]

export const writes: Readonly<Record<string, string>> = {
  'an update that changes nothing': `UPDATE "user" SET name = name`,
  'an update of another user': `UPDATE "user" SET name = 'New' WHERE id = 'usr_bea'`,
  'an update from a join': `UPDATE profile SET username = account.display_name FROM account WHERE account.id = profile.account_id`,
  'a change of the status': `UPDATE account SET status = 'EXPIRED' WHERE id = 'acc_ada'`,
  'a change of an email': `UPDATE email_record SET value = 'new@example.com' WHERE id = 'eml_ada'`,
  'a change of a user, the account and an email': `
    BEGIN; UPDATE "user" SET name = 'New' WHERE id = 'usr_ada'; UPDATE account SET display_name = 'New' WHERE id = 'acc_ada';
    UPDATE email_record SET value = 'new@example.com' WHERE id = 'eml_ada'; COMMIT`,
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
