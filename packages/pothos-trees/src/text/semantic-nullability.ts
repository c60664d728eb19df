import { ownValue } from '@fusion-gateway/base'
import {
  DirectiveLocation,
  GraphQLDirective,
  type GraphQLField,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLNullableType,
  type GraphQLObjectType,
  type GraphQLSchema,
  GraphQLString,
  isObjectType,
  Kind,
  lexicographicSortSchema,
  parse,
  printSchema,
} from 'graphql'
import { metadataOf, scopeOf } from '../field-metadata.ts'

/**
 * Says that a field is null only if an error has its path. Clients with such a notion of errors generate a type without
 * null.
 *
 * @see https://specs.apollo.dev/nullability/v0.4/#@semanticNonNull
 */
export const semanticNonNull = new GraphQLDirective({
  name: 'semanticNonNull',
  description: 'The field is null only if there is an error at its path, or below it.',
  locations: [DirectiveLocation.FIELD_DEFINITION],
  args: {
    levels: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(GraphQLInt))),
      defaultValue: [0],
      description: 'The levels of the lists for which it holds: 0 is the field itself.',
    },
  },
})

/**
 * The scopes that a viewer needs for a field: all of one of the lists. It says in a form for programs what the
 * description says in words.
 */
export const requiresScopes = new GraphQLDirective({
  name: 'requiresScopes',
  description: 'The API key or access token needs all scopes of one of the lists to select the field.',
  locations: [DirectiveLocation.FIELD_DEFINITION],
  args: {
    scopes: {
      type: new GraphQLNonNull(nonNullList(nonNullList(GraphQLString))),
      description: 'The lists of scopes.',
    },
  },
})

function nonNullList<Type extends GraphQLNullableType>(type: Type) {
  return new GraphQLList(new GraphQLNonNull(type))
}

/** Returns the directives of a type, or of a field, in the text of a schema. */
export interface DirectivesOf {
  readonly type?: (type: GraphQLObjectType) => readonly string[]
  readonly field: (field: GraphQLField<unknown, unknown>, parent: GraphQLObjectType) => readonly string[]
}

export const nullability: DirectivesOf = {
  field: (field) => (metadataOf(field).isNullByError ? [`@${semanticNonNull.name}`] : []),
}

/** The directives of the schema that clients get. A router of a supergraph would enforce `@requiresScopes` itself. */
const described: DirectivesOf = {
  field(field, parent) {
    const scope = scopeOf(field)
    const scopes = scope === undefined ? [] : [`@${requiresScopes.name}(scopes: [["${scope}"]])`]
    return [...nullability.field(field, parent), ...scopes]
  },
}

/** The text of a schema, sorted, with directives. graphql-js prints only `@deprecated`. */
export function printSortedSchema(
  schema: GraphQLSchema,
  { type: ofType, field: ofField }: DirectivesOf = described,
): string {
  const text = printSchema(lexicographicSortSchema(schema))
  const added: { readonly at: number; readonly directives: readonly string[] }[] = []
  for (const definition of parse(text).definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION) continue
    const type = schema.getType(definition.name.value)
    if (!isObjectType(type)) continue
    const head = definition.interfaces?.at(-1) ?? definition.name
    added.push({ at: head.loc?.end ?? 0, directives: ofType?.(type) ?? [] })
    const fields = type.getFields()
    for (const {
      name,
      type: { loc },
    } of definition.fields ?? []) {
      const field = ownValue(fields, name.value)
      if (loc && field) added.push({ at: loc.end, directives: ofField(field, type) })
    }
  }
  let start = 0
  const parts = added.map(({ at, directives }) => {
    const part = text.slice(start, at)
    start = at
    return [part, ...directives].join(' ')
  })
  return parts.join('') + text.slice(start)
}
