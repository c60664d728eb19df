import { atMost, expectedTime, filledText, kept, matching, storableText } from '@fusion-gateway/input'
import { z } from 'zod'

/** The fields of a user that clients set, as the database stores them. */
export const userFields = { name: filledText, email: filledText, phone: storableText }

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

export const newUser = z.object({ name, email, phone })

/** The input of `updateUser`. Null clears `phone`, and is rejected for the others. */
export const userChange = z.object({
  name: kept(name),
  email: kept(email),
  phone: phone.nullish(),
  expectedUpdatedAt: expectedTime,
})
