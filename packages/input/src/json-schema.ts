import { z } from 'zod'

/** The keywords of JSON Schema in which a rule can say what it checks. */
export interface Bounds {
  readonly type?: 'integer'
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
}

export interface RuleDef extends z.core.$ZodCheckDef {
  readonly bounds: Bounds
}

/**
 * The JSON Schema of a rule of inputs. zod does not know the checks of rules.ts, so their bounds are added. Later
 * bounds replace earlier ones.
 *
 * `filledText.check(atMost(64))` ⇒ `{ type: 'string', minLength: 1, pattern: '\\S', maxLength: 64 }`
 */
export function jsonSchemaOf(rules: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(rules, {
    // Inputs are trimmed and then checked: the bounds are those of the output.
    io: 'output',
    // Dates and JSON objects, whose schema is that of their scalar.
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      for (const { _zod } of zodSchema._zod.def.checks ?? []) Object.assign(jsonSchema, (_zod.def as RuleDef).bounds)
    },
  })
  return schema
}

/** The rules of a value that is given, without the permission to be absent or null, and without what it becomes. */
export function requiredOf(rules: z.ZodType): z.ZodType {
  if (rules instanceof z.ZodPipe && rules.out instanceof z.ZodTransform) return requiredOf(rules.in as z.ZodType)
  return rules instanceof z.ZodOptional || rules instanceof z.ZodNullable
    ? requiredOf(rules.unwrap() as z.ZodType)
    : rules
}
