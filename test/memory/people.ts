import type { Database } from '@fusion-gateway/database'
import { createKey } from '../../src/domain/credential/key.service.ts'
import { scopes } from '../../src/domain/scopes.ts'
import { createTenant } from '../../src/domain/tenant/tenant.service.ts'
import type { DirectSql, Query } from './direct-sql.ts'
import { Numbers } from './numbers.ts'

/** A user with an account, its profile and an email, of which each has a value with numbers. */
export interface Person {
  readonly tenant: Tenant
  /** The same in each tenant. */
  readonly userId: string
  readonly accountId: string
  readonly profileId: string
  /** Whether the user is never deleted. */
  readonly isSteady: boolean
  /** `user.name` */
  readonly name: Numbers
  /** `user.email` and `user.phone` */
  readonly contact: Numbers
  /** `account.display_name` */
  readonly account: Numbers
  /** `profile.followers_count` */
  readonly profile: Numbers
  /** `email_record.value` */
  readonly email: Numbers
  /** `job.progress` of a job of its own, which belongs to no user. */
  readonly job: Numbers
}

export interface Tenant {
  readonly tenantAppId: string
  readonly mark: string
  readonly people: readonly Person[]
  /** A key of all scopes that only writes: a key that has written reads from the primary. */
  readonly writingKey: string
  readonly viewers: readonly Viewer[]
}

/** Who reads. */
export interface Viewer {
  readonly tenant: Tenant
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  readonly seesContacts: boolean
  /** The user to whom a token is bound. */
  readonly boundTo?: Person
}

/** All values of a person. */
export const numbersOf = (person: Person) => [...rowsOf(person).user, person.job]

/** The fields of a person that are rows, those below first. */
export const rowsOf = ({ email, profile, account, contact, name }: Person) => ({
  email: [email],
  account: [email, profile, account],
  user: [email, profile, account, contact, name],
})

/**
 * The ids of the rows of a person. Rows of different types have equal ids on purpose, as after an import: of one person
 * in three they are all the same, and of one in three the account, the profile and the email have the id of the next
 * user.
 */
function idsOf(number: number) {
  const idOf = (kind: string, of: number) => `${kind}_${String(of).padStart(3, '0')}`
  const userId = idOf('usr', number)
  if (number % 3 === 0) return { userId, accountId: idOf('acc', number), profileId: idOf('prf', number) }
  const shared = number % 3 === 1 ? userId : idOf('usr', number + 1)
  return { userId, accountId: shared, profileId: shared }
}

export const nameOf = ({ tenant, userId }: Person, number: number) => `${tenant.mark} ${userId} name ${number}`
export const displayNameOf = ({ tenant, accountId }: Person, number: number) =>
  `${tenant.mark} ${accountId} account ${number}`
/** Three addresses that are used in turns, so that a filter repeats and its result changes to and fro. */
export const contactOf = ({ tenant, userId }: Person, number: number) =>
  `${userId}-${number % 3}@${tenant.mark}.example`
export const phoneOf = ({ tenant, userId }: Person, number: number) => `${tenant.mark} ${userId} ${number}`
export const jobIdOf = ({ userId }: Person) => userId.replace('usr', 'job')
export const progressOf = (number: number) => number / 1_000_000
export const emailOf = ({ tenant, profileId }: Person, number: number) =>
  `${profileId}-${number}@${tenant.mark}.example`

/** When all people were created. It decides their places in lists, which stay. */
export const createdAt = '2026-01-01T00:00:00Z'

/**
 * Inserts the rows of a person from a level down, with the next numbers. Returns what to call when they are committed.
 */
export async function insertRows(
  query: Query,
  person: Person,
  level: 'email' | 'account' | 'user',
): Promise<() => void> {
  const { tenant, userId, accountId, profileId } = person
  const { tenantAppId } = tenant
  const rows = rowsOf(person)[level]
  const numbers = new Map(rows.map((row) => [row, row.begin()]))
  const numberOf = (row: Numbers) => numbers.get(row) ?? 0
  if (level === 'user') {
    await query(
      `INSERT INTO "user" (tenant_app_id, id, name, email, phone, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, $6::timestamptz, now())`,
      [
        tenantAppId,
        userId,
        nameOf(person, numberOf(person.name)),
        contactOf(person, numberOf(person.contact)),
        phoneOf(person, numberOf(person.contact)),
        createdAt,
      ],
    )
  }
  if (level !== 'email') {
    await query(
      `INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, updated_at)
       VALUES ($1, $2, $3, 'YOUTUBE', $2, $4, now())`,
      [tenantAppId, accountId, userId, displayNameOf(person, numberOf(person.account))],
    )
    await query(
      `INSERT INTO profile (tenant_app_id, id, account_id, platform, platform_account_id, followers_count, updated_at)
       VALUES ($1, $2, $3, 'YOUTUBE', $3, $4, now())`,
      [tenantAppId, profileId, accountId, numberOf(person.profile)],
    )
  }
  await query(
    `INSERT INTO email_record (tenant_app_id, id, profile_id, value, updated_at) VALUES ($1, $2, $2, $3, now())`,
    [tenantAppId, profileId, emailOf(person, numberOf(person.email))],
  )
  return () => {
    for (const [row, number] of numbers) row.acknowledge(number)
  }
}

/** Creates tenants of which each has the same ids, their people, keys and tokens. */
export async function createTenants(
  database: Database,
  sql: DirectSql,
  { tenants, people }: { readonly tenants: number; readonly people: number },
  createToken: (key: string, input: object) => Promise<string>,
): Promise<Tenant[]> {
  const created: Tenant[] = []
  for (let number = 1; number <= tenants; number += 1) {
    const mark = `tenant${number}`
    const { id: tenantAppId } = await createTenant(database, `Memory ${mark}`)
    const keyOf = async (name: string, of: readonly string[]) =>
      (await createKey(database, { tenantAppId, name, scopes: of })).key
    const list: Person[] = []
    const viewers: Viewer[] = []
    const tenant = { tenantAppId, mark, people: list, viewers, writingKey: await keyOf('writes', scopes) }
    for (let index = 1; index <= people; index += 1) {
      const [name, contact, account, profile, email, job] = [1, 2, 3, 4, 5, 6].map(() => new Numbers()) as [
        Numbers,
        Numbers,
        Numbers,
        Numbers,
        Numbers,
        Numbers,
      ]
      list.push({
        tenant,
        ...idsOf(index),
        isSteady: index % 2 === 1,
        name,
        contact,
        account,
        profile,
        email,
        job,
      })
    }
    for (const person of list) {
      let acknowledge = () => {}
      await sql.transact(async (query) => {
        acknowledge = await insertRows(query, person, 'user')
        return 'commit'
      })
      acknowledge()
    }
    const all = await keyOf('reads all', scopes)
    const [bound, other] = list.filter(({ isSteady }) => isSteady)
    if (!bound || !other) throw new Error('Tokens need two users')
    const tokenOf = async ({ userId }: Person, of: readonly string[]) => ({
      authorization: `Bearer ${await createToken(all, { userId, scopes: of, expiresInSeconds: 86_400 })}`,
    })
    const ofTokens = ['users:read', 'profiles:read', 'contacts:read']
    const withoutContacts = scopes.filter((scope) => scope !== 'contacts:read')
    viewers.push(
      { tenant, name: 'a key of all scopes', headers: { 'x-api-key': all }, seesContacts: true },
      {
        tenant,
        name: 'a key without contacts:read',
        headers: { 'x-api-key': await keyOf('reads no contacts', withoutContacts) },
        seesContacts: false,
      },
      { tenant, name: 'a token', headers: await tokenOf(bound, ofTokens), seesContacts: true, boundTo: bound },
      { tenant, name: 'another token', headers: await tokenOf(other, ofTokens), seesContacts: true, boundTo: other },
    )
    created.push(tenant)
  }
  return created
}

/** Creates tokens by a gateway. */
export const tokensOf = (address: string) => async (key: string, input: object) => {
  const query = 'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }'
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { input } }),
  })
  const { data } = (await response.json()) as { data: { createAccessToken: { accessToken: string } } }
  return data.createAccessToken.accessToken
}
