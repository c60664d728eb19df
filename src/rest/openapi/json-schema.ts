import { jsonSchemaOf, requiredOf } from '@fusion-gateway/input'
import {
  type GraphQLEnumType,
  type GraphQLInputType,
  type GraphQLScalarType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql'
import { z } from 'zod'
import { recordKeyOf } from '../../domain/resource.ts'
import type { Body } from '../route.ts'
import { enumValuesOf, keepsNull, type ObjectShape, type Shape } from '../stored-operation.ts'

export type Json = Record<string, unknown>

/** A reference to the schema of a response, or of the elements of a list. The schema is added under its name. */
export function componentOf(name: string, shape: Shape, schemas: Record<string, Json>): Json {
  if (shape.kind === 'list') return componentOf(name, shape.of, schemas)
  if (shape.kind === 'leaf') return leafSchema(shape.type)
  schemas[name] = objectSchema(shape, schemas)
  return { $ref: `#/components/schemas/${name}` }
}

function objectSchema({ fields }: ObjectShape, schemas: Record<string, Json>): Json {
  return {
    type: 'object',
    properties: Object.fromEntries(
      fields.map(({ key, nullable, description, shape }) => {
        const schema = outputSchema(shape, schemas)
        const described = '$ref' in schema || !description ? schema : { ...schema, description }
        return [key, nullable && keepsNull(key) ? { ...described, type: [described['type'], 'null'] } : described]
      }),
    ),
    // Fields without a value are omitted, except the one that is null.
    required: fields.filter(({ key, nullable }) => !nullable || keepsNull(key)).map(({ key }) => key),
  }
}

function outputSchema(shape: Shape, schemas: Record<string, Json>): Json {
  if (shape.kind === 'list') return { type: 'array', items: outputSchema(shape.of, schemas) }
  return shape.kind === 'object' ? componentOf(shape.name, shape, schemas) : leafSchema(shape.type)
}

/** The schema of a JSON body: the types and descriptions of an input type, within the bounds of the rules. */
export function bodySchema({ without = [], rules }: Pick<Body, 'without' | 'rules'>, type: GraphQLInputType): Json {
  const bodyType = getNullableType(type)
  if (rules instanceof z.ZodArray) return valueSchema(bodyType, rules)
  if (!isInputObjectType(bodyType)) throw new Error('A body must be an input object or a list')
  const fields = Object.values(bodyType.getFields()).filter(({ name }) => !without.includes(name))
  return {
    type: 'object',
    ...(bodyType.description && { description: bodyType.description }),
    properties: Object.fromEntries(
      fields.map((field) => {
        const schema = valueSchema(getNullableType(field.type), requiredOf(rules.shape[field.name] as z.ZodType))
        const nullable = isNonNullType(field.type) ? schema : orNull(schema)
        return [recordKeyOf(field.name), { ...nullable, ...(field.description && { description: field.description }) }]
      }),
    ),
    required: fields.filter((field) => isNonNullType(field.type)).map(({ name }) => recordKeyOf(name)),
  }
}

/** The schema of a value of a body, which is not null. */
function valueSchema(type: GraphQLInputType, rules: z.ZodType): Json {
  // The rules have the names of GraphQL.
  if (isEnumType(type)) return inputSchema(type)
  const schema = jsonSchemaOf(rules)
  if (!isListType(type)) return { ...inputSchema(type), ...schema }
  if (!isInputObjectType(getNamedType(type))) {
    const items = { ...inputSchema(type.ofType), ...(schema['items'] as Json) }
    return { ...schema, type: 'array', items }
  }
  const { element } = (rules instanceof z.ZodPipe ? rules.out : rules) as z.ZodArray<z.ZodObject>
  return { ...schema, items: bodySchema({ rules: element }, type.ofType) }
}

function orNull(schema: Json): Json {
  const values = schema['enum'] as unknown[] | undefined
  return { ...schema, type: [schema['type'], 'null'], ...(values && { enum: [values, null].flat() }) }
}

export function inputSchema(type: GraphQLInputType): Json {
  if (isNonNullType(type)) return inputSchema(type.ofType)
  if (isListType(type)) return { type: 'array', items: inputSchema(type.ofType as GraphQLInputType) }
  if (isInputObjectType(type)) throw new Error('A parameter must be a scalar or a list of scalars')
  return leafSchema(type)
}

function leafSchema(type: GraphQLScalarType | GraphQLEnumType): Json {
  if (isEnumType(type)) return { type: 'string', enum: enumValuesOf(type) }
  return scalarSchemas[type.name] ?? { description: type.name }
}

const scalarSchemas: Record<string, Json> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
  SafeInt: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  DateTime: { type: 'string', format: 'date-time' },
  Date: { type: 'string', pattern: '^\\d{4}:\\d{2}:\\d{2}$', example: '1990:05:17' },
  JSONObject: { type: 'object', additionalProperties: true },
}
