import { type FieldError, type FieldErrorCode, invalidInput, isObject } from '@fusion-gateway/base'
import { isPossibleId, isStorableText, isStorableTime } from '@fusion-gateway/sql'
import { z } from 'zod'
import { hasProtoKey, hasStorableTexts, isShallow } from './json.ts'
import type { Bounds, RuleDef } from './json-schema.ts'

// The rules of inputs. The inputs of a resource are built from them, for GraphQL, REST and import alike.

type Refusal = Pick<FieldError, 'code' | 'message'>

/**
 * A check that reports a code of this gateway. It does not run after an earlier check of the same value has failed.
 *
 * @param bounds the check in JSON Schema, as far as that can express it. See json-schema.ts
 */
export function rule<Value>(
  code: FieldErrorCode,
  message: string,
  isValid: (value: Value) => boolean,
  bounds: Bounds = {},
) {
  return refusalRule((value: Value) => (isValid(value) ? undefined : { code, message }), bounds)
}

/** The same for a check whose code or message depends on the value. */
export function refusalRule<Value>(refusalOf: (value: Value) => Refusal | undefined, bounds: Bounds = {}) {
  const def: RuleDef = { check: 'custom', bounds }
  const check: z.core.$ZodCheck<Value> = new z.core.$ZodCheck(def)
  check._zod.check = (payload) => {
    if (payload.issues.length > 0) return
    const refusal = refusalOf(payload.value)
    if (!refusal) return
    const { code, message } = refusal
    payload.issues.push({ code: 'custom', input: payload.value, message, params: { code } })
  }
  return check
}

/** A text that the database can store. */
export const storableText = z
  .string()
  .check(rule('INVALID_FORMAT', 'must not contain NUL characters or unpaired surrogates', isStorableText))

export const filledText = storableText.check(
  rule('REQUIRED', 'must not be blank', (value) => value.trim() !== '', { minLength: 1, pattern: '\\S' }),
)

/** Limits the length of a text, in characters as a reader counts them: "𝒜" is one. */
export function atMost(max: number) {
  const message = `must have at most ${max} characters`
  return rule<string>('TOO_LONG', message, (value) => [...value].length <= max, { maxLength: max })
}

/** A text of 1 to `max` characters that is not blank. */
export function text(max: number) {
  return filledText.check(atMost(max))
}

/** The longest name that can be stored, in characters. */
export const maxNameLength = 500

/** The longest text of an index: PostgreSQL indexes 2,704 bytes, and a character has up to 4. */
const maxIndexedLength = 500

/** A text that is part of an index, and that clients do not give. */
export const indexedText = storableText.check(atMost(maxIndexedLength))

/** The same, not blank. */
export const filledIndexedText = text(maxIndexedLength)

export function matching(pattern: RegExp, message: string) {
  return rule<string>('INVALID_FORMAT', message, (value) => pattern.test(value), { pattern: pattern.source })
}

/** An identifier in upper case, such as a platform: `YOUTUBE`, `NON_BINARY`. */
export const upperCaseWord = text(64).check(
  matching(/^[A-Z][A-Z0-9_]*$/, 'must be upper case: a letter, then letters, digits and underscores'),
)

export const id = z
  .string()
  .check(rule('INVALID_FORMAT', 'must be an id of 1 to 128 characters', isPossibleId, { minLength: 1, maxLength: 128 }))

export const httpUrl = text(2_048).check(
  rule(
    'INVALID_FORMAT',
    'must be an absolute http or https URL',
    (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
  ),
)

export function integer(min: number, max: number) {
  const isInRange = (value: number) => Number.isInteger(value) && value >= min && value <= max
  const bounds = { type: 'integer', minimum: min, maximum: max } as const
  return z.number().check(rule('OUT_OF_RANGE', `must be from ${min} to ${max}`, isInRange, bounds))
}

/** A count: 0 to 2^53 − 1. */
export const count = z
  .number()
  .check(
    rule(
      'OUT_OF_RANGE',
      'must be a whole number from 0 to 9007199254740991',
      (value) => Number.isSafeInteger(value) && value >= 0,
      { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    ),
  )

/** A time that the database can store. */
export const time = z.date().check(rule('OUT_OF_RANGE', 'must be in the years 1 to 9999', isStorableTime))

/** A field that can be absent and cannot be null. @param advice what the client can do instead */
function optional<Schema extends z.ZodType>(schema: Schema, advice: string) {
  return schema
    .nullable()
    .check(rule('REQUIRED', `must not be null. ${advice}`, (value) => value !== null))
    .transform((value) => (value ?? undefined) as z.output<Schema> | undefined)
    .optional()
}

/** The rule of `expectedUpdatedAt`. Null would check nothing, and overwrite what the client means to keep. */
export const expectedTime = optional(z.date(), 'Leave it out to write whatever has changed')

/** A field of a change that a row always has. Absent keeps its value; null would be ignored, or clear it. */
export function kept<Schema extends z.ZodType>(schema: Schema) {
  return optional(schema, 'Leave it out to keep its value')
}

/** The most entries of a list, unless it has a bound of its own. */
export const maxEntries = 100

/** A list with a maximum length, which is checked before its entries. */
export function listOf<Entry extends z.ZodType>(entry: Entry, max = maxEntries) {
  const isShort = rule<unknown[]>('TOO_LONG', `must have at most ${max} entries`, (list) => list.length <= max)
  return z
    .array(z.unknown())
    .check(isShort)
    .pipe(z.array(entry).meta({ maxItems: max }))
}

export function nullish<Shape extends z.ZodRawShape>(shape: Shape) {
  const entries = Object.entries(shape).map(([name, field]) => [name, (field as z.ZodType).nullish()])
  return Object.fromEntries(entries) as { [Name in keyof Shape]: z.ZodOptional<z.ZodNullable<Shape[Name]>> }
}

type JsonObject = Record<string, unknown>

const jsonObject = z.custom<JsonObject>(isObject, 'must be a JSON object')

/** A JSON object that a row stores, of at most `max` KiB. */
export function storedObject(max: number) {
  return jsonObject.check(
    rule(
      'TOO_LONG',
      `must have at most ${max} KiB and be nested at most 64 levels deep`,
      // JSON.stringify is recursive.
      (value) => isShallow(value) && Buffer.byteLength(JSON.stringify(value)) <= max * 1024,
    ),
  )
}

/** Rejects objects with a key `__proto__`. JavaScript that copies such an object by assignment loses the key. */
export const withoutProtoKey = rule<JsonObject>(
  'INVALID_FORMAT',
  'must have no key __proto__',
  (value) => !hasProtoKey(value),
)

/** A JSON object that an index has, as the type jsonb of PostgreSQL: its texts are storable. */
export function indexedObject(max: number) {
  return storedObject(max).check(
    withoutProtoKey,
    rule('INVALID_FORMAT', 'must not contain NUL characters or unpaired surrogates', hasStorableTexts),
  )
}

/** A text that a list is filtered by: as long as the longest name that can be stored, that of a profile. */
export const filterText = storableText.check(atMost(maxNameLength))

/**
 * The name that an operator gives to a tenant or a key: 1–200 characters in one line, because lists print one per line.
 */
export const operatorName = z
  .string()
  .trim()
  .refine((name) => name !== '' && [...name].length <= 200 && name.isWellFormed() && !/\p{Cc}/u.test(name))

// Records of an import have the format of the REST interface: keys in snake case, times and dates as texts. A field
// without a value may be absent or null.

export const recordTimeText = z
  .string()
  .check(refusalRule(refusalOfTime))
  .check(rule('OUT_OF_RANGE', 'must be in the years 1 to 9999', (value) => isStorableTime(new Date(value))))

export const recordTime = recordTimeText.transform((value) => new Date(value))

function refusalOfTime(value: string): Refusal | undefined {
  const message = problemOfTime(value)
  return message === undefined ? undefined : { code: 'INVALID_FORMAT', message }
}

/**
 * What is wrong with the text of a time. It needs an offset, and can have milliseconds, because the database stores no
 * more.
 */
function problemOfTime(value: string): string | undefined {
  if (z.iso.date().safeParse(value).success) return 'needs a time and an offset, such as T00:00:00Z'
  if (z.iso.datetime({ local: true }).safeParse(value).success && !/Z$/.test(value)) return 'needs an offset, such as Z'
  if (!z.iso.datetime({ offset: true }).safeParse(value).success) return 'must be a time, such as 2026-01-31T08:00:00Z'
  return /\.\d{3}\d*[1-9]/.test(value) ? 'must have at most milliseconds, such as 08:00:00.123Z' : undefined
}

/** A date in a record: `1990:05:17`, or with hyphens, as other services write it. */
export const recordDate = z
  .string()
  .regex(/^\d{4}[:-]\d{2}[:-]\d{2}$/, 'must be a date, such as 1990:05:17')
  .transform((value) => value.replaceAll(':', '-'))
  .refine((value) => new Date(value).toJSON()?.startsWith(value) && value > '0001', 'must be a date that exists')

/** A field that can be absent or null, and has a value then. */
export function withDefault<Schema extends z.ZodType, Value>(schema: Schema, value: Value) {
  return schema.nullish().transform((given) => (given ?? value) as NonNullable<z.output<Schema>> | Value)
}

/** A field of a record that can have no value. */
export function orNull<Schema extends z.ZodType>(schema: Schema) {
  return withDefault(schema, null)
}

/** A list of a record. It is empty if absent or null. */
export function orEmpty<Schema extends z.ZodType>(schema: Schema) {
  return withDefault(z.array(schema), [])
}

/**
 * @param prefix the path of the input in the request, if it is not the input itself: `filter`
 * @returns the output of the schema
 * @throws GatewayError BAD_USER_INPUT naming every invalid field
 */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  prefix?: string,
): z.output<Schema> {
  const { data, error } = schema.safeParse(input)
  if (error) throw invalidInput(error.issues.map((issue) => toFieldError(issue, prefix)))
  return data as z.output<Schema>
}

function toFieldError(issue: z.core.$ZodIssue, prefix?: string): FieldError {
  const path = prefix === undefined ? issue.path : [prefix, ...issue.path]
  return { field: path.map(String).join('.'), code: fieldErrorCodeOf(issue), message: issue.message }
}

export function fieldErrorCodeOf(issue: z.core.$ZodIssue): FieldErrorCode {
  switch (issue.code) {
    case 'custom':
      return (issue.params as { code?: FieldErrorCode } | undefined)?.code ?? 'INVALID_FORMAT'
    case 'too_big':
      return issue.origin === 'array' || issue.origin === 'string' ? 'TOO_LONG' : 'OUT_OF_RANGE'
    case 'too_small':
      return issue.origin === 'array' || issue.origin === 'string' ? 'REQUIRED' : 'OUT_OF_RANGE'
    case 'invalid_format':
      return 'INVALID_FORMAT'
    default:
      return 'INVALID_TYPE'
  }
}
