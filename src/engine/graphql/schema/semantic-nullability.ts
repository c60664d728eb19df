import {
  DirectiveLocation,
  GraphQLDirective,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLSchema,
  isObjectType,
  Kind,
  lexicographicSortSchema,
  parse,
  printSchema,
} from 'graphql'
import { own } from '../../own.ts'
import { metadataOf } from './field-metadata.ts'

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

/** The text of a schema, sorted. graphql-js prints no directives of fields, except `@deprecated`. */
export function printSortedSchema(schema: GraphQLSchema): string {
  const text = printSchema(lexicographicSortSchema(schema))
  const ends = parse(text).definitions.flatMap((definition) => {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION) return []
    const type = schema.getType(definition.name.value)
    if (!isObjectType(type)) return []
    const fields = type.getFields()
    return (definition.fields ?? []).flatMap(({ name, type: { loc } }) => {
      const field = own(fields, name.value)
      return loc && field && metadataOf(field).isNullByError ? [loc.end] : []
    })
  })
  return [0, ...ends].map((start, index) => text.slice(start, ends[index])).join(` @${semanticNonNull.name}`)
}
