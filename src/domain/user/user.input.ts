import { z } from 'zod'
import { atMost, expectedTime, filledText, matching, storableText } from '../../engine/input/rules.ts'

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

/** The input of `updateUser`. Null leaves `name` and `email` unchanged, and clears `phone`. */
export const userChange = z.object({
  name: name.nullish(),
  email: email.nullish(),
  phone: phone.nullish(),
  expectedUpdatedAt: expectedTime,
})
