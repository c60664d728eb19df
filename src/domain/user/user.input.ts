import {
  atMost,
  expectedTime,
  fieldErrorCodeOf,
  filledText,
  filterText,
  indexedObject,
  kept,
  matching,
  refusalRule,
  storableText,
  text,
} from '@fusion-gateway/input'
import { z } from 'zod'

/** The fields of a user that clients set, as the database stores them. */
export const userFields = {
  name: filledText,
  email: filledText,
  phone: storableText,
  /** The id of the user in the tenant's own system. */
  externalId: text(200),
  /** What that system keeps about the user. */
  metadata: indexedObject(16),
}

const ofOtherSystem = { externalId: userFields.externalId.nullish(), metadata: userFields.metadata.nullish() }

const name = z
  .string()
  .trim()
  .pipe(userFields.name.check(atMost(200)))
const email = userFields.email.check(
  atMost(320),
  // Looser than the format `email` of JSON Schema, so that OpenAPI has the pattern alone.
  matching(/^[^\s@]+@[^\s@]+$/u, 'must be an email address, such as ada@example.com'),
)
const phone = filledText.check(atMost(64))

export const newUser = z.object({ name, email, phone, ...ofOtherSystem })

/** The input of `updateUser`. Null clears `phone`, `externalId` and `metadata`, and is rejected for the others. */
export const userChange = z.object({
  name: kept(name),
  email: kept(email),
  phone: phone.nullish(),
  ...ofOtherSystem,
  expectedUpdatedAt: expectedTime,
})

/** The input of `upsertUser`. Absent fields keep their value. Null clears `phone` and `metadata`. */
export const userUpsert = z.object({
  externalId: userFields.externalId,
  name: kept(name),
  email: kept(email),
  phone: phone.nullish(),
  metadata: ofOtherSystem.metadata,
})

/** A condition on the metadata of users: the value that a key has. */
export const metadataCondition = z.object({
  key: text(200),
  value: z.unknown().check(
    refusalRule((value) => {
      const issue = typeof value === 'string' ? filterText.safeParse(value).error?.issues[0] : undefined
      return issue && { code: fieldErrorCodeOf(issue), message: issue.message }
    }),
  ),
})
