import { type Database, dataModel, literals, modelTables } from '@fusion-gateway/database'
import type { Model } from '@fusion-gateway/prisma-trees'
import { type Parameter, type Sql, type Statement, statement, sumOfBatches, sumOfTenants } from '@fusion-gateway/sql'
import { accountIds } from '../account/account.ts'
import { profileIds } from '../profile/profile.ts'

/** An id that the gateway has created, as a regular expression of PostgreSQL. */
const idWith = (prefix: string) => `(?:${prefix})[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`

const createdId = idWith(`${accountIds.prefix}|${profileIds.prefix}`)

/**
 * The ids of a user, and of the accounts and profiles that the user has had, as far as the event log and the deletion
 * know them. Ids that clients have chosen for accounts and profiles are left out: users with tokens could choose words
 * that other payloads have, or the id of a profile of somebody else for an account. Parameters: tenant, users.
 */
const readNames = statement(`
  SELECT DISTINCT erased.user_id, name FROM unnest($2::text[]) AS erased (user_id) CROSS JOIN LATERAL (
    SELECT erased.user_id UNION SELECT name FROM event, LATERAL (VALUES
      ('^${idWith(accountIds.prefix)}$', account_id),
      ('^${idWith(accountIds.prefix)}$', CASE WHEN starts_with(type, 'ACCOUNT') THEN resource_id END),
      ('^${idWith(profileIds.prefix)}$', CASE WHEN starts_with(type, 'PROFILE') THEN resource_id END)) AS of_type (pattern, name)
    WHERE event.tenant_app_id = $1 AND event.user_id = erased.user_id AND name ~ pattern
    UNION SELECT unnest(names) FROM erasure WHERE erasure.tenant_app_id = $1 AND erasure.id = erased.user_id
  ) AS named (name) WHERE name = erased.user_id OR name ~ '^${createdId}$'`)

/** The length from which an id is certainly one, and not a word or a number that means something else. */
const minIdLength = 20

/** Whether a name is looked for as a word, and not as a whole JSON string. */
const isCertain = (name: string) => name.length >= minIdLength

/** A character of a word, but not the last one of an escape sequence of JSON. */
const start = String.raw`(?:(?<![\w.+-])|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))`
const end = String.raw`(?![\w-]|\.\w)`

/** Matches the ids of accounts and profiles that the gateway has created, as words. */
const createdIdPattern = `${start}(${createdId})${end}`

/** A regular expression of PostgreSQL for text and JSON that has a name, as a word or as a whole JSON string. */
function patternOf(name: string, isWord = isCertain(name)): string {
  const text = (isWord ? name : JSON.stringify(name)).replace(/[^\w@"\s-]/g, '\\$&')
  return isWord ? start + text + end : text
}

/** A pattern of SQL's LIKE for texts that may match the regular expression. It takes a hundredth of the time. */
function likePatternOf(name: string, isWord = isCertain(name)): string {
  return `%${(isWord ? name : JSON.stringify(name)).replace(/[\\%_]/g, '\\$&')}%`
}

interface Mention {
  readonly table: string
  readonly column: string
  readonly rows: number
  /** Whether the column belongs to the event log, which keeps ids of deleted users until its retention ends. */
  readonly isKept: boolean
}

const listColumns = statement(`
  SELECT c.relname, a.attname, quote_ident(c.relname), quote_ident(a.attname)
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relname IN (${literals(modelTables)})
  ORDER BY 1, a.attnum`)

const listTenants = statement('SELECT id FROM tenant_app WHERE $1::text IS NULL OR id = $1')

/**
 * Looks through every column of every table for the id of a user, the ids of the accounts and profiles that the event
 * log knows of the user, and further texts, such as an email address. The same id of a row of another type is none of
 * the user.
 *
 * @param tenantAppId the tenant of the user. All tenants if absent
 */
export async function findMentions(
  { sql }: Pick<Database, 'sql'>,
  {
    userId,
    tenantAppId,
    texts,
  }: { readonly userId: string; readonly tenantAppId?: string; readonly texts: readonly string[] },
): Promise<Mention[]> {
  const tenants = (await sql.query(listTenants, [tenantAppId ?? null])).map(([id]) => String(id))
  const names: Name[] = [{ id: userId, model: 'User' }]
  for (const tenant of tenants) {
    for (const [, name] of await sql.query(readNames, [tenant, [userId]])) {
      const id = String(name)
      if (id !== userId) names.push({ id, model: id.startsWith(accountIds.prefix) ? 'Account' : 'Profile' })
    }
  }
  const mentions = await search(sql, { names, texts, tenants })
  return mentions.map((mention) => ({ ...mention, isKept: mention.table === 'event' }))
}

/**
 * Looks through every column of every table for the id of a tenant that was deleted, and for further texts, also in
 * rows that belong to no tenant.
 */
export async function findMentionsOfTenant(
  { sql }: Pick<Database, 'sql'>,
  tenantAppId: string,
  texts: readonly string[],
): Promise<Mention[]> {
  const mentions = await search(sql, { names: [{ id: tenantAppId, model: 'TenantApp' }], texts })
  return mentions.map((mention) => ({ ...mention, isKept: false }))
}

/** An id, and whose it is. */
interface Name {
  readonly id: string
  readonly model: Model
}

interface Search {
  readonly names: readonly Name[]
  readonly texts: readonly string[]
  /** The tenants whose rows are read. All rows if absent. */
  readonly tenants?: readonly string[]
}

/** The models whose ids imports and clients choose: an account, for example, can have the id of a user. */
const importedModels: readonly Model[] = ['User', 'Account', 'Profile', 'EmailRecord', 'Job']

/** The columns that have ids of such a model, with the model: `account.user_id` ⇒ `User`. */
const columnsOfIds = new Map<string, Model>(
  importedModels.flatMap((model) => {
    const { name, parents, columnOf } = dataModel(model)
    const all = [{ model, field: 'id' }, ...parents]
    return all.map(({ model: of, field }) => [`${name}.${columnOf(field).column}`, of] as const)
  }),
)

async function search(sql: Sql, { names, texts, tenants }: Search): Promise<Omit<Mention, 'isKept'>[]> {
  // A text of the operator is a word, however short.
  const isWord = (name: string) => isCertain(name) || texts.includes(name)
  /** What is looked for in a column: texts, a regular expression, and patterns of LIKE. */
  function searchedIn(column: string): Parameter[] {
    const model = columnsOfIds.get(column)
    const ids = names.filter((name) => model === undefined || model === name.model).map(({ id }) => id)
    const all = [...new Set([...ids, ...texts])]
    const pattern = all.map((name) => patternOf(name, isWord(name))).join('|')
    return [all, pattern, all.map((name) => likePatternOf(name, isWord(name)))]
  }

  const columns = await sql.query(listColumns)
  const mentions: Omit<Mention, 'isKept'>[] = []
  for (const [table, ofTable] of Map.groupBy(columns, ([name]) => String(name))) {
    const isOfTenants = tenants && ofTable.some(([, column]) => column === 'tenant_app_id')
    const parameters: Parameter[] = [tenants ?? []]
    const counts = ofTable.map(([, name, , column]) => {
      const [all, pattern, patterns] = searchedIn(`${table}.${name}`).map((value) => `$${parameters.push(value)}`)
      return `count(*) FILTER (WHERE ${column}::text = ANY (${all}) OR (${column}::text LIKE ANY (${patterns}) AND ${column}::text ~ ${pattern}))`
    })
    const count = statement(`
      SELECT ${counts.join(', ')} FROM ${ofTable[0]?.[2]} ${isOfTenants ? 'WHERE tenant_app_id = ANY ($1)' : 'WHERE $1::text[] IS NOT NULL'}`)
    const [found = []] = await sql.query(count, parameters)
    for (const [index, rows] of found.entries()) {
      const column = String(ofTable[index]?.[1])
      if (Number(rows) > 0) mentions.push({ table, column, rows: Number(rows) })
    }
  }
  return mentions
}

/** How many users are looked for at once. */
const maxUsers = 20

/** How many rows one statement reads. A job can have half a MiB of payload and result. */
const pageSize = 50

interface Erasure {
  readonly userId: string
  /** The id of the user in the tenant's own system. */
  readonly externalId: string | null
  readonly deletedAt: string
}

const listErasing = statement('SELECT DISTINCT tenant_app_id FROM erasure')

const note = statement(`
  UPDATE erasure SET seen_in = node_prefix(tenant_app_id) WHERE tenant_app_id = $1 AND seen_in IS NULL`)

/** The transactions that ran when the deletion was noted have ended, so what they wrote can be seen. */
const isDue = 'jobs IS NULL AND due_at <= now() AND seen_in < node_complete(tenant_app_id)'

// A process has an hour. If it ends before, another one begins again.
const claim = statement(`
  UPDATE erasure SET due_at = now() + interval '1 hour' WHERE tenant_app_id = $1 AND id IN (
    SELECT id FROM erasure WHERE tenant_app_id = $1 AND ${isDue}
    ORDER BY due_at LIMIT ${maxUsers} FOR UPDATE SKIP LOCKED
  ) RETURNING id, external_id, deleted_at`)

/**
 * Reads the rows after an id, and finds those that name users. The ids of accounts and profiles are looked up for each
 * id in a text, because a user can have had thousands. Parameters: tenant, id, ids of users, also external ones, as
 * patterns of LIKE, as regular expressions, and when each was deleted; ids of accounts and profiles, and when the user
 * of each was deleted.
 */
const page = (table: string, text: string, before: '<' | '<=') => `
  page AS (SELECT id, created_at, ${text} AS text FROM ${table} WHERE tenant_app_id = $1 AND id > $2 ORDER BY id LIMIT ${pageSize}),
  found AS (
    SELECT id FROM page WHERE CASE WHEN text LIKE ANY ($3::text[]) THEN EXISTS (
      SELECT FROM unnest($4::text[], $5::timestamptz[]) AS erased (pattern, deleted_at)
      WHERE page.created_at ${before} erased.deleted_at AND page.text ~ erased.pattern) ELSE false END
    OR EXISTS (
      SELECT FROM regexp_matches(text, '${createdIdPattern}', 'g') AS named (parts) WHERE parts[1] = ANY ($6::text[]) AND EXISTS (
        SELECT FROM unnest($6::text[], $7::timestamptz[]) AS erased (name, deleted_at)
        WHERE page.created_at ${before} erased.deleted_at AND name = parts[1]))
  )`

const findJobs = statement(`
  WITH ${page('job', "concat_ws(' ', payload, result, error, progress_message)", '<=')}
  SELECT (SELECT max(id) FROM page), ARRAY(SELECT id FROM found)`)

// The row stays, so that the request is not executed again. The response to the deletion has the time of the deletion.
const eraseResponses = statement(`
  WITH ${page('idempotent_answer', 'answer', '<')}, erased AS (
    UPDATE idempotent_answer SET answer = '', fingerprint = '' WHERE tenant_app_id = $1 AND id IN (SELECT id FROM found)
  )
  SELECT (SELECT max(id) FROM page), ARRAY[]::text[]`)

const storeJobs = statement(`
  UPDATE erasure SET jobs = $3::text[] WHERE tenant_app_id = $1 AND id = ANY ($2::text[]) AND due_at > now()`)

const isNamed = `(job.status IN ('PENDING', 'RUNNING') OR
  num_nonnulls(job.payload, job.result, job.error, job.progress_message) > 0)`

// A job that waits is cancelled: without its payload it cannot run. A job that runs ends first.
const eraseJobs = statement(`
  UPDATE job SET
    payload = NULL, result = NULL, error = NULL, progress_message = NULL,
    status = CASE WHEN job.status = 'PENDING' THEN 'CANCELLED'::job_status ELSE job.status END,
    finished_at = CASE WHEN job.status = 'PENDING' THEN node_now(job.tenant_app_id) ELSE finished_at END,
    updated_at = date_trunc('milliseconds', now())
  WHERE tenant_app_id = $1 AND id IN (
    SELECT job.id FROM (SELECT DISTINCT unnest(jobs) AS id FROM erasure WHERE tenant_app_id = $1) AS named
    JOIN job ON job.tenant_app_id = $1 AND job.id = named.id WHERE job.status <> 'RUNNING' AND ${isNamed}
    LIMIT ${pageSize} FOR UPDATE OF job SKIP LOCKED)`)

const removeCompleted = statement(`
  DELETE FROM erasure WHERE tenant_app_id = $1 AND jobs IS NOT NULL AND NOT EXISTS (
    SELECT FROM job WHERE job.tenant_app_id = $1 AND job.id = ANY (erasure.jobs) AND ${isNamed})`)

/**
 * Erases what still names users who were deleted: stored responses, and the payloads and results of jobs, if they were
 * written before the deletion. Searches for at most 20 users of each tenant, and for none while transactions run that
 * began before the deletion was noted. Any number of processes may do so at the same time.
 */
export async function eraseUsers(database: Pick<Database, 'sql'>): Promise<void> {
  await sumOfTenants(database.sql, await database.sql.list(listErasing), async (tenantAppId, sql) => {
    await sql.execute(note, [tenantAppId])
    const erasures = (await sql.query(claim, [tenantAppId])).map(([userId, externalId, deletedAt]) => ({
      userId: String(userId),
      externalId: externalId as string | null,
      deletedAt: String(deletedAt),
    }))
    if (erasures.length > 0) await searchTenant({ sql }, tenantAppId, erasures)
    await sumOfBatches(pageSize, () => sql.execute(eraseJobs, [tenantAppId]))
    return sql.execute(removeCompleted, [tenantAppId])
  })
}

async function searchTenant(
  { sql }: Pick<Database, 'sql'>,
  tenantAppId: string,
  erasures: readonly Erasure[],
): Promise<void> {
  const users = erasures.map(({ userId }) => userId)
  const names = await sql.query(readNames, [tenantAppId, users])
  const deletedAt = (user: unknown) => erasures.find(({ userId }) => userId === user)?.deletedAt ?? null
  const related = names.filter(([userId, name]) => name !== userId)
  const chosen = erasures.flatMap(({ userId, externalId, deletedAt }) =>
    [userId, externalId].flatMap((name) => (name === null ? [] : [{ name, deletedAt }])),
  )
  const values = [
    chosen.map(({ name }) => likePatternOf(name)),
    chosen.map(({ name }) => patternOf(name)),
    chosen.map(({ deletedAt }) => deletedAt),
    related.map(([, name]) => String(name)),
    related.map(([userId]) => deletedAt(userId)),
  ]
  const search = async (sent: Statement): Promise<string[]> => {
    const found: string[] = []
    for (let after: string | null = ''; after !== null; ) {
      const [[last, ids] = []] = await sql.query(sent, [tenantAppId, after, ...values])
      found.push(...(ids as string[]))
      after = last as string | null
    }
    return found
  }
  await search(eraseResponses)
  await sql.execute(storeJobs, [tenantAppId, users, await search(findJobs)])
}
