import { dataModel } from '@fusion-gateway/database'
import { listOf, refusalRule, rule } from '@fusion-gateway/input'
import { z } from 'zod'
import type { Event } from './event.ts'

const models = ['User', 'Account', 'Profile'] as const

/** The fields of users, accounts and profiles that events name. Triggers write them (migration external_ids). */
export const changeableFields: ReadonlySet<string> = new Set(
  models
    .flatMap((model) => dataModel(model).columns.map(({ field }) => field))
    .filter((field) => !['tenantAppId', 'updatedAt', 'syncedAt', 'userId'].includes(field))
    .concat('user', 'emails'),
)

/** The fields by which events are selected: at least one, each of which a change can name. */
export const selectedFields = listOf(z.string())
  .check(rule('REQUIRED', 'must name a field', (names) => names.length > 0))
  .check(
    refusalRule((names) => {
      const unknown = names.find((name) => !changeableFields.has(name))
      if (unknown === undefined) return undefined
      const message = `must be fields of User, Account or Profile that an event can name, and not ${JSON.stringify(unknown)}`
      return { code: 'INVALID_FORMAT', message }
    }),
  )
  .transform((names) => [...new Set(names)])

/** Whether an event changed one of some fields. An event that does not name what it changed may have. */
export function isAbout(fields: readonly string[], { changedFields }: Pick<Event, 'changedFields'>): boolean {
  return changedFields === null || changedFields.some((name) => fields.includes(name))
}
