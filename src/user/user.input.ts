import { checkFields, matching, text } from '../input/rules.ts'

/** The fields of a user that a caller may set. */
export interface UserFields {
  name?: string
  email?: string
  phone?: string | null
}

type Given = { readonly [Field in keyof UserFields]?: string | null | undefined }

const rules = {
  name: text(200),
  email: matching(320, /^[^\s@]+@[^\s@]+$/u, 'must be an email address, such as ada@example.com'),
  phone: text(64),
}

/**
 * Checks the fields of a user and gives back those to be written.
 * A name is trimmed. Null stays null for `phone` alone; for `name` and `email` it means "leave it".
 *
 * @throws GatewayError BAD_USER_INPUT naming every field that is refused
 */
export function readUserFields(given: Given): UserFields {
  const fields: UserFields = {}
  if (given.name != null) fields.name = given.name.trim()
  if (given.email != null) fields.email = given.email
  if (given.phone !== undefined) fields.phone = given.phone
  checkFields(fields, rules)
  return fields
}
