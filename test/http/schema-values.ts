import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { type Choices, junk } from './choices.ts'

/** The keywords of JSON Schema that the OpenAPI document uses for requests. */
export interface RequestSchema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: RequestSchema
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, RequestSchema>>
  readonly required?: readonly string[]
}

const texts = [
  'YOUTUBE',
  '1990:05:17',
  'Ada',
  'a@b',
  'root@localhost',
  'ü@ö.de',
  '"q"@[::1]',
  ' x ',
  '+1 555 0100',
  'x-_9',
  '😀',
  '%00',
  "';--",
]

/** A value that a schema accepts. */
export function validValue(choices: Choices, schema: RequestSchema): unknown {
  const { enum: values, items = {}, properties = {}, required = [], minimum = -5, maximum = 5 } = schema
  if (values) return choices.pick(values)
  const type = typeof schema.type === 'object' ? choices.pick(schema.type) : schema.type
  if (type === 'null') return null
  if (type === 'boolean') return choices.pick([true, false])
  if (type === 'integer' || type === 'number') return choices.pick([minimum, maximum, Math.min(minimum + 1, maximum)])
  if (type === 'array') return Array.from({ length: choices.below(4) }, () => validValue(choices, items))
  if (type !== 'object') return validText(choices, schema)
  const names = Object.keys(properties).filter((name) => required.includes(name) || choices.below(2) === 0)
  return Object.fromEntries(names.map((name) => [name, validValue(choices, properties[name] ?? {})]))
}

function validText(choices: Choices, { pattern = '', format, minLength = 0, maxLength = 100 }: RequestSchema): string {
  if (format === 'date-time') return '2026-01-31T08:00:00.123Z'
  // The longest text, in characters of two UTF-16 units if the pattern allows them.
  const longest = [`a@${'𝒜'.repeat(maxLength - 2)}`, 'x'.repeat(maxLength)]
  const matches = (text: string) => new RegExp(pattern, 'u').test(text) && [...text].length >= minLength
  return choices.pick([...texts, ...longest].filter(matches))
}

/** A value that a schema probably rejects: just beyond a bound, without a required property, or of another type. */
export function invalidValue(choices: Choices, schema: RequestSchema): unknown {
  const { minimum, maximum, maxLength, maxItems, items, properties, required = [] } = schema
  const beyond: unknown[] = [choices.pick(junk), choices.pick(junk)]
  if (minimum !== undefined) beyond.push(minimum - 1)
  if (maximum !== undefined) beyond.push(maximum + 1)
  if (maxLength !== undefined) beyond.push('x@'.padEnd(maxLength + 1, 'x'), '')
  if (maxItems !== undefined) beyond.push(Array.from({ length: maxItems + 1 }, (_, index) => `id-${index}`))
  if (items) beyond.push([invalidValue(choices, items)])
  if (properties) {
    const valid = validValue(choices, schema) as Record<string, unknown>
    const name = choices.pick(Object.keys(properties))
    const { [choices.pick([...required, name])]: _, ...rest } = valid
    const changed = { ...valid, [name]: invalidValue(choices, properties[name] ?? {}) }
    beyond.push(rest, changed, changed, { ...valid, extra: choices.pick(junk) })
  }
  return choices.pick(beyond)
}

/** A validator of JSON Schema 2020-12, the dialect of OpenAPI 3.1, that checks formats. */
export function createValidator() {
  const ajv = new Ajv2020({ strict: false })
  formats.default(ajv)
  return ajv
}
