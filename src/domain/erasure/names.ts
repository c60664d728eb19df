import { statement } from '../../engine/db/statement.ts'
import { accountIds } from '../account/account.ts'
import { profileIds } from '../profile/profile.ts'

/** An id of an account or a profile that the gateway has created, as a regular expression of PostgreSQL. */
const createdId = `(?:${accountIds.prefix}|${profileIds.prefix})[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`

/**
 * The ids of a user, and of the accounts and profiles that the user has had, as far as the event log and the deletion
 * know them. Ids that clients have chosen for accounts and profiles are left out: users with tokens could choose words
 * that other payloads have. Parameters: tenant, users.
 */
export const readNames = statement(`
  SELECT DISTINCT erased.user_id, name FROM unnest($2::text[]) AS erased (user_id) CROSS JOIN LATERAL (
    SELECT erased.user_id UNION SELECT unnest(ARRAY[resource_id, account_id]) FROM event
    WHERE event.tenant_app_id = $1 AND event.user_id = erased.user_id
    UNION SELECT unnest(names) FROM erasure WHERE erasure.tenant_app_id = $1 AND erasure.id = erased.user_id
  ) AS named (name) WHERE name = erased.user_id OR name ~ '^${createdId}$'`)

/** The length from which an id is certainly one, and not a word or a number that means something else. */
const minIdLength = 20

/** Whether a name is looked for as a word, and not as a whole JSON string. */
export const isCertain = (name: string) => name.length >= minIdLength

/** A character of a word, but not the last one of an escape sequence of JSON. */
const start = String.raw`(?:(?<![\w.+-])|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))`
const end = String.raw`(?![\w-]|\.\w)`

/**
 * A regular expression of PostgreSQL for the ids of accounts and profiles in a text, as words, that the gateway has
 * created.
 */
export const createdIdPattern = `${start}(${createdId})${end}`

/** A regular expression of PostgreSQL for text and JSON that has a name, as a word or as a whole JSON string. */
export function patternOf(name: string, isWord = isCertain(name)): string {
  const text = (isWord ? name : JSON.stringify(name)).replace(/[^\w@"\s-]/g, '\\$&')
  return isWord ? start + text + end : text
}

/** A pattern of SQL's LIKE for texts that may match the regular expression. It takes a hundredth of the time. */
export function likePatternOf(name: string, isWord = isCertain(name)): string {
  return `%${(isWord ? name : JSON.stringify(name)).replace(/[\\%_]/g, '\\$&')}%`
}
