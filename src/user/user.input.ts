import { isStorableText } from '../db/storable.ts'
import { type FieldError, invalidInput } from '../errors.ts'

/** The fields of a user that a caller may set. */
export interface UserFields {
  name?: string
  email?: string
  phone?: string | null
}

type Given = { readonly [Field in keyof UserFields]?: string | null | undefined }

type Rule = (text: string) => Omit<FieldError, 'field'> | undefined

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

  const errors = Object.entries(rules).flatMap(([field, rule]): FieldError[] => {
    const text = fields[field as keyof UserFields]
    if (text == null) return []
    const refusal = storable(text) ?? rule(text)
    return refusal ? [{ field, ...refusal }] : []
  })
  if (errors.length > 0) throw invalidInput(errors)
  return fields
}

const rules: Record<keyof UserFields, Rule> = {
  name: (text) => length(text, 200),
  email: (text) =>
    length(text, 320) ??
    (/^[^\s@]+@[^\s@]+$/u.test(text)
      ? undefined
      : { code: 'INVALID_FORMAT', message: 'must be an email address, such as ada@example.com' }),
  phone: (text) => length(text, 64),
}

const storable: Rule = (text) =>
  isStorableText(text)
    ? undefined
    : { code: 'INVALID_FORMAT', message: 'must not contain NUL characters or halves of surrogate pairs' }

function length(text: string, max: number): ReturnType<Rule> {
  if (text.trim() === '') return { code: 'REQUIRED', message: 'must not be blank' }
  // Characters as a reader counts them: "𝒜" is one, though JavaScript stores two.
  return [...text].length > max ? { code: 'TOO_LONG', message: `must have at most ${max} characters` } : undefined
}
