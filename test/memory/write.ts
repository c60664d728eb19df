import type { Database } from '@fusion-gateway/database'
import type { Random } from '../../src/domain/resource.ts'
import { importFile } from '../../src/transfer/import.ts'
import type { Client, Reply } from './client.ts'
import type { DirectSql, Query } from './direct-sql.ts'
import type { Numbers } from './numbers.ts'
import {
  contactOf,
  createdAt,
  displayNameOf,
  emailOf,
  insertRows,
  jobIdOf,
  nameOf,
  type Person,
  phoneOf,
  progressOf,
  rowsOf,
} from './people.ts'

/** What a writer writes with. */
export interface Means {
  readonly sql: DirectSql
  /** What imports write to. */
  readonly database: Database
  readonly random: Random
  /** A client of some gateway. */
  client(): Client
  /** Waits while others read, up to a number of reads. */
  untilReads(most: number): Promise<void>
}

/** A write of one value, or of several in one transaction. It has begun numbers when it is called. */
type Write = (means: Means, person: Person, own: readonly Person[]) => Promise<void>

/** The gateway did not confirm a write. */
class Unconfirmed extends Error {}

/** Writes a number by the gateway. */
async function acknowledge(numbers: Numbers, write: (number: number) => Promise<void>): Promise<void> {
  const number = numbers.begin()
  await write(number)
  numbers.acknowledge(number)
}

function confirm({ status, text }: Reply): void {
  const isRejected = !text.includes('"userErrors":[]') && text.includes('"userErrors"')
  if (status >= 300 || text.includes('"errors"') || isRejected) throw new Unconfirmed(`${status} ${text}`)
}

async function mutate({ client }: Means, { tenant }: Person, name: string, input: object): Promise<void> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { userErrors { code message } } }`
  confirm(await client().send(tenant.writingKey, 'POST', '/graphql', { query, variables: { input } }))
}

const nameByGraphQL: Write = (means, person) =>
  acknowledge(person.name, (number) =>
    mutate(means, person, 'updateUser', { id: person.userId, name: nameOf(person, number) }),
  )

const nameByRest: Write = ({ client }, person) =>
  acknowledge(person.name, async (number) => {
    const { tenant, userId } = person
    confirm(await client().send(tenant.writingKey, 'PUT', `/users/${userId}`, { name: nameOf(person, number) }))
  })

const contactByGraphQL: Write = (means, person) =>
  acknowledge(person.contact, (number) =>
    mutate(means, person, 'updateUser', {
      id: person.userId,
      email: contactOf(person, number),
      phone: phoneOf(person, number),
    }),
  )

const accountByGraphQL: Write = (means, person) =>
  acknowledge(person.account, (number) =>
    mutate(means, person, 'updateAccount', { id: person.accountId, displayName: displayNameOf(person, number) }),
  )

const profileByGraphQL: Write = (means, person) =>
  acknowledge(person.profile, (number) =>
    mutate(means, person, 'syncProfile', { accountId: person.accountId, followersCount: number }),
  )

const emailsByGraphQL: Write = (means, person) =>
  acknowledge(person.email, (number) =>
    mutate(means, person, 'syncProfile', {
      accountId: person.accountId,
      emails: [{ value: emailOf(person, number), type: 'work' }],
    }),
  )

/** A user and the account, by an import. */
const userByImport: Write = async ({ database }, person) => {
  const { tenant, userId, accountId, name, contact, account } = person
  const [ofName, ofContact, ofAccount] = [name.begin(), contact.begin(), account.begin()]
  const times = { created_at: createdAt, updated_at: new Date().toISOString() }
  const record = {
    id: userId,
    ...times,
    name: nameOf(person, ofName),
    email: contactOf(person, ofContact),
    phone: phoneOf(person, ofContact),
    accounts: [
      {
        id: accountId,
        ...times,
        user_platform: 'YOUTUBE',
        platform_account_id: accountId,
        display_name: displayNameOf(person, ofAccount),
      },
    ],
  }
  const file = { name: 'a record', chunks: new Blob([JSON.stringify(record)]).stream() }
  await importFile(database, file, {
    tenantAppId: tenant.tenantAppId,
    onReject({ reason }) {
      throw new Unconfirmed(reason)
    },
  })
  name.acknowledge(ofName)
  contact.acknowledge(ofContact)
  account.acknowledge(ofAccount)
}

/** Updates by SQL, each of one value. */
const updates: readonly ((query: Query, person: Person) => [Numbers, Promise<unknown>])[] = [
  (query, person) =>
    begin(person.name, (number) =>
      query(`UPDATE "user" SET name = $3 WHERE tenant_app_id = $1 AND id = $2`, [
        person.tenant.tenantAppId,
        person.userId,
        nameOf(person, number),
      ]),
    ),
  (query, person) =>
    begin(person.contact, (number) =>
      query(`UPDATE "user" SET email = $3, phone = $4, updated_at = now() WHERE tenant_app_id = $1 AND id = $2`, [
        person.tenant.tenantAppId,
        person.userId,
        contactOf(person, number),
        phoneOf(person, number),
      ]),
    ),
  (query, person) =>
    begin(person.account, (number) =>
      query('UPDATE account SET display_name = $3 WHERE tenant_app_id = $1 AND id = $2', [
        person.tenant.tenantAppId,
        person.accountId,
        displayNameOf(person, number),
      ]),
    ),
  (query, person) =>
    begin(person.profile, (number) =>
      query('UPDATE profile SET followers_count = $3 WHERE tenant_app_id = $1 AND id = $2', [
        person.tenant.tenantAppId,
        person.profileId,
        number,
      ]),
    ),
  (query, person) =>
    begin(person.email, (number) =>
      query('UPDATE email_record SET value = $3 WHERE tenant_app_id = $1 AND profile_id = $2', [
        person.tenant.tenantAppId,
        person.profileId,
        emailOf(person, number),
      ]),
    ),
]

function begin(numbers: Numbers, write: (number: number) => Promise<unknown>): [Numbers, Promise<unknown>] {
  return [numbers, write(numbers.begin())]
}

/** The latest number of a value, which its writer has just taken. */
const latest = (numbers: Numbers) => Math.max(...numbers.candidates(0))

/** One value by SQL, in a transaction that ends at once. */
const oneBySql: Write = async ({ sql, random }, person) => {
  let written: { readonly numbers: Numbers; readonly number: number } | undefined
  await sql.transact(async (query) => {
    const [numbers, sent] = random.pick(updates)(query, person)
    written = { numbers, number: latest(numbers) }
    await sent
    return 'commit'
  })
  written?.numbers.acknowledge(written.number)
}

/**
 * Values of several people by SQL, in a transaction that stays open while others read, sometimes long. One in three is
 * rolled back.
 */
const severalBySql: Write = async ({ sql, random, untilReads }, person, own) => {
  const written: { readonly numbers: Numbers; readonly number: number }[] = []
  const people = [person, ...Array.from({ length: random.below(4) }, () => random.pick([person, random.pick(own)]))]
  const isCommitted = await sql.transact(async (query) => {
    for (const one of people) {
      const [numbers, sent] = random.pick(updates)(query, one)
      written.push({ numbers, number: latest(numbers) })
      await sent
      if (sql.mayHold) await untilReads(random.below(8) === 0 ? 600 : 40)
    }
    return random.below(3) === 0 ? 'roll back' : 'commit'
  })
  for (const { numbers, number } of written) {
    if (isCommitted) numbers.acknowledge(number)
    else numbers.rollBack(number)
  }
}

/** Deletes rows from a level down, lets others read, and inserts them again. */
const deletion =
  (level: 'user' | 'account' | 'email', remove: (means: Means, person: Person) => Promise<unknown>): Write =>
  async (means, person) => {
    if (level === 'user' && person.isSteady) return
    const deletions = rowsOf(person)[level].map((numbers) => ({ numbers, number: numbers.beginDeletion() }))
    await remove(means, person)
    for (const { numbers, number } of deletions) numbers.acknowledge(number)
    await means.untilReads(60)
    let committed = () => {}
    await means.sql.transact(async (query) => {
      committed = await insertRows(query, person, level)
      return 'commit'
    })
    committed()
  }

const deleteBySql =
  (table: string, column: string, idOf: (person: Person) => string) =>
  ({ sql }: Means, person: Person) =>
    sql.transact(async (query) => {
      const text = `DELETE FROM ${table} WHERE tenant_app_id = $1 AND ${column} = $2`
      await query(text, [person.tenant.tenantAppId, idOf(person)])
      return 'commit'
    })

/** A new job, its progress, or its removal, of which the log has no event. */
const jobBySql: Write = async ({ sql, random }, person) => {
  const { tenant, job } = person
  const key = [tenant.tenantAppId, jobIdOf(person)] as const
  const isRemoved = random.below(3) === 0
  const number = isRemoved ? job.beginDeletion() : job.begin()
  await sql.transact(async (query) => {
    if (isRemoved) await query('DELETE FROM job WHERE tenant_app_id = $1 AND id = $2', key)
    else
      await query(
        `INSERT INTO job (tenant_app_id, id, job_type, status, progress, updated_at)
         VALUES ($1, $2, 'fetch_content', 'SUCCEEDED', $3, now())
         ON CONFLICT (tenant_app_id, id) DO UPDATE SET progress = excluded.progress`,
        [...key, progressOf(number)],
      )
    return 'commit'
  })
  job.acknowledge(number)
}

const writes: readonly Write[] = [
  nameByGraphQL,
  nameByRest,
  contactByGraphQL,
  accountByGraphQL,
  profileByGraphQL,
  emailsByGraphQL,
  userByImport,
  ...Array<Write>(6).fill(oneBySql),
  ...Array<Write>(3).fill(severalBySql),
  ...Array<Write>(3).fill(jobBySql),
  deletion('user', (means, person) => mutate(means, person, 'deleteUser', { id: person.userId })),
  deletion('user', async ({ client }, { tenant, userId }) =>
    confirm(await client().send(tenant.writingKey, 'DELETE', `/users/${userId}`)),
  ),
  deletion(
    'user',
    deleteBySql('"user"', 'id', ({ userId }) => userId),
  ),
  deletion('account', (means, person) => mutate(means, person, 'unlinkAccount', { id: person.accountId })),
  deletion(
    'account',
    deleteBySql('account', 'id', ({ accountId }) => accountId),
  ),
  deletion(
    'email',
    deleteBySql('email_record', 'profile_id', ({ profileId }) => profileId),
  ),
]

/** Writes once. Resolves when the write is acknowledged. */
export function write(means: Means, own: readonly Person[]): Promise<void> {
  const person = means.random.pick(own)
  return means.random.pick(writes)(means, person, own)
}

/**
 * Inserts the rows of people that failed writes have left out, or that a restored backup does not have, and notes what
 * was written.
 */
async function settle(sql: DirectSql, people: readonly Person[], isRestored: boolean): Promise<void> {
  for (const person of people) {
    const { tenant, userId } = person
    let committed = () => {}
    await sql.transact(async (query) => {
      // The lock waits for transactions that have not ended.
      await query('SELECT FROM "user" WHERE tenant_app_id = $1 AND id = $2 FOR UPDATE', [tenant.tenantAppId, userId])
      const [row] = await query(
        `SELECT u.name, u.phone, a.display_name, p.followers_count::text AS followers, e.value
         FROM "user" AS u
         LEFT JOIN account AS a ON a.tenant_app_id = u.tenant_app_id AND a.user_id = u.id
         LEFT JOIN profile AS p ON p.tenant_app_id = a.tenant_app_id AND p.account_id = a.id
         LEFT JOIN email_record AS e ON e.tenant_app_id = p.tenant_app_id AND e.profile_id = p.id
         WHERE u.tenant_app_id = $1 AND u.id = $2`,
        [tenant.tenantAppId, userId],
      )
      const [jobRow] = await query(
        'SELECT round(progress * 1000000)::text AS number FROM job WHERE tenant_app_id = $1 AND id = $2',
        [tenant.tenantAppId, jobIdOf(person)],
      )
      const values = {
        name: row?.['name'],
        contact: row?.['phone'],
        account: row?.['display_name'],
        profile: row?.['followers'],
        email: row?.['value'],
        job: jobRow?.['number'],
      }
      for (const [field, value] of Object.entries(values)) {
        const digits = /(\d+)(?:@.*)?$/.exec(String(value ?? ''))?.[1]
        const found = digits === undefined ? undefined : Number(digits)
        const numbers = person[field as keyof typeof values]
        if (isRestored) numbers.restore(found)
        numbers.settle(found)
      }
      const level = !row ? 'user' : row['display_name'] == null ? 'account' : row['value'] == null ? 'email' : undefined
      if (level) committed = await insertRows(query, person, level)
      return 'commit'
    })
    committed()
  }
}

/** Settles as soon as the server answers. */
export async function untilSettled(
  sql: DirectSql,
  people: readonly Person[],
  { isRestored = false, mayFail }: { readonly isRestored?: boolean; mayFail(): boolean },
): Promise<void> {
  for (;;) {
    try {
      return await settle(sql, people, isRestored)
    } catch (error) {
      if (!mayFail()) throw error
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }
}
