import { ownValue } from '@fusion-gateway/base'
import { type GraphQLField, type GraphQLSchema, isInterfaceType, isObjectType } from 'graphql'

/**
 * Why a field is deprecated, and until when it stays. The text of the schema, and the headers of REST routes that
 * select it, say the same.
 */
export interface Deprecation {
  /** What to use instead: a sentence. */
  readonly reason: string
  /** The day since when it is deprecated: `2027-01-31`. */
  readonly since: string
  /** The day from which on it can be removed. */
  readonly sunset: string
}

export function deprecationReason({ reason, since, sunset }: Deprecation): string {
  return `${reason} Deprecated since ${since}, and removed from ${sunset} on.`
}

/** A field of the schema by its name: `User.email`. Undefined if there is none. */
export function fieldNamed(schema: GraphQLSchema, name: string): GraphQLField<unknown, unknown> | undefined {
  const [typeName = '', fieldName = '', ...rest] = name.split('.')
  const type = schema.getType(typeName)
  return rest.length === 0 && (isObjectType(type) || isInterfaceType(type))
    ? ownValue(type.getFields(), fieldName)
    : undefined
}

export function deprecatedFields(schema: GraphQLSchema): Map<string, string> {
  const types = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) || isInterfaceType(type))
  return new Map(
    types.flatMap((type) =>
      Object.values(type.getFields()).flatMap(({ name, deprecationReason: reason }) =>
        reason == null || type.name.startsWith('__') ? [] : [[`${type.name}.${name}`, reason] as const],
      ),
    ),
  )
}
