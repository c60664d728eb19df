import { isPossibleId } from '../db/ids.ts'
import { isStorableText } from '../db/storable.ts'
import { type FieldError, invalidInput } from '../errors.ts'

/** Why a value is refused, or undefined. */
export type Rule<Value> = (value: Value) => Omit<FieldError, 'field'> | undefined

type Rules<Fields> = { readonly [Field in keyof Fields]?: Rule<NonNullable<Fields[Field]>> }

/**
 * Holds values against the rules of their fields. What is absent or null is not looked at.
 *
 * @throws GatewayError BAD_USER_INPUT naming every field that is refused
 */
export function checkFields<Fields extends object>(fields: Fields, rules: Rules<Fields>): void {
  const errors = Object.entries(rules).flatMap(([field, rule]): FieldError[] => {
    const value = fields[field as keyof Fields]
    const refusal = value == null ? undefined : (rule as Rule<unknown>)(value)
    return refusal ? [{ field, ...refusal }] : []
  })
  if (errors.length > 0) throw invalidInput(errors)
}

/** The longest text that a list is filtered by: no name and no email is longer. */
const maxFilterLength = 320

function refusals(field: string, value: string): FieldError[] {
  if (!isStorableText(value)) return [{ field, ...unstorable }]
  if (value.length <= maxFilterLength) return []
  return [{ field, code: 'TOO_LONG', message: `must have at most ${maxFilterLength} characters` }]
}

const unstorable = {
  code: 'INVALID_FORMAT',
  message: 'must not contain NUL characters or halves of surrogate pairs',
} as const

/**
 * Refuses texts of a filter that no row can hold, and that the database could not even be asked for.
 *
 * @throws GatewayError BAD_USER_INPUT naming each as `filter.<field>`
 */
export function checkFilterTexts(filter: Readonly<Record<string, string | null | undefined>>): void {
  const errors = Object.entries(filter).flatMap(([field, value]): FieldError[] =>
    value == null ? [] : refusals(`filter.${field}`, value),
  )
  if (errors.length > 0) throw invalidInput(errors)
}

/** 1 to `max` characters, not all of them blank. Characters as a reader counts them: "𝒜" is one. */
export function text(max: number): Rule<string> {
  return (value) => {
    if (!isStorableText(value)) return unstorable
    if (value.trim() === '') return { code: 'REQUIRED', message: 'must not be blank' }
    return [...value].length > max ? { code: 'TOO_LONG', message: `must have at most ${max} characters` } : undefined
  }
}

/** 1 to `max` characters that match a pattern, which `message` describes. */
export function matching(max: number, pattern: RegExp, message: string): Rule<string> {
  const isText = text(max)
  return (value) => isText(value) ?? (pattern.test(value) ? undefined : { code: 'INVALID_FORMAT', message })
}

/** A name of the platforms' world in upper case: `YOUTUBE`, `NON_BINARY`. */
export const upperCaseWord = matching(
  64,
  /^[A-Z][A-Z0-9_]*$/,
  'must be upper case: a letter, then letters, digits and underscores',
)

/** An id that a row may keep: 1–128 characters. */
export const id: Rule<string> = (value) =>
  isPossibleId(value) ? undefined : { code: 'INVALID_FORMAT', message: 'must be an id of 1 to 128 characters' }

/** An absolute http or https URL. */
export const httpUrl: Rule<string> = (value) => {
  const refusal = text(2_048)(value)
  if (refusal) return refusal
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
    ? undefined
    : { code: 'INVALID_FORMAT', message: 'must be an absolute http or https URL' }
}

/** A number of things: 0 to 2^53 − 1. */
export const count: Rule<number> = (value) =>
  Number.isSafeInteger(value) && value >= 0
    ? undefined
    : { code: 'OUT_OF_RANGE', message: 'must be a whole number from 0 to 9007199254740991' }
