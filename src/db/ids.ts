import { v7 as uuidv7 } from 'uuid'
import { isStorableText } from './storable.ts'

/** What an id of ours begins with, by model. */
const prefixes = {
  TenantApp: 'ten',
  ApiKey: 'key',
  User: 'usr',
  Account: 'acc',
  Profile: 'prf',
  EmailRecord: 'eml',
  Job: 'job',
} as const

/** What an id that is made here begins with: `usr_`. Ids that come from elsewhere may begin with anything. */
export function idPrefix(model: keyof typeof prefixes): string {
  return `${prefixes[model]}_`
}

/** A new id: `newId('User')` ⇒ `usr_019a9d6e-…`, ordered by time. */
export function newId(model: keyof typeof prefixes): string {
  return idPrefix(model) + uuidv7()
}

const maxIdLength = 128

/**
 * Whether a string could be an id at all: 1–128 characters that PostgreSQL can hold. Rows that come from elsewhere
 * keep the id they had, so nothing else is asked of it. What cannot be an id is simply not found, without a statement.
 */
export function isPossibleId(id: string): boolean {
  return id.length > 0 && id.length <= maxIdLength && isStorableText(id)
}
