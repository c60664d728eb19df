import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLNamedType,
  getNamedType,
  getNullableType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
} from 'graphql'
import { schemas } from '../../src/domain/schema.graphql.ts'

const { schema } = schemas

// Cases that follow from the schema, so that a new field is tested too.

/** Selects all fields of a type, and the fields of its relations to a depth of `levels`. */
export function selection(type: GraphQLNamedType, levels: number): string {
  if (!isObjectType(type) && !isInterfaceType(type)) return ''
  const fields = Object.values(type.getFields()).flatMap((field) => {
    const named = getNamedType(field.type)
    const name = `${field.name}${requiredArguments(field)}`
    if (!isCompositeType(named)) return [name]
    return levels > 0 ? [`${name} ${selection(named, levels - 1)}`] : []
  })
  return `{ __typename ${fields.join(' ')} }`
}

/** The required arguments of a field, each with the first value of its enum, or half of what a number can be. */
function requiredArguments({ args }: GraphQLField<unknown, unknown>): string {
  const required = args.filter(isRequiredArgument).map(({ name, type }) => {
    const named = getNamedType(type)
    return `${name}: ${isEnumType(named) ? named.getValues()[0]?.name : 0.5}`
  })
  return required.length > 0 ? `(${required.join(', ')})` : ''
}

/** Selections that cover all fields of a type. An interface has one selection for each of its object types. */
export function selections(type: GraphQLNamedType, levels: number): string[] {
  if (!isInterfaceType(type)) return [selection(type, levels)]
  return schema.getPossibleTypes(type).map((type) => `{ __typename id ... on ${type.name} ${selection(type, levels)} }`)
}

/** The fields of a root type. */
export const rootFields = (root: 'getQueryType' | 'getMutationType') => Object.values(schema[root]()?.getFields() ?? {})

/** The arguments of a field that are ids. */
export const idArguments = (field: GraphQLField<unknown, unknown>) =>
  field.args.filter(({ type }) => getNamedType(type).name === 'ID')

/** An id in the input of a mutation. */
export interface MutationCase {
  readonly name: string
  readonly mutation: string
  /**
   * An operation that runs the mutation so many times, one after the other, and selects the errors of each input. The
   * variables are `inputsOf` a list of inputs.
   */
  queryOf(count: number): string
  /** The field that has the id. */
  readonly field: string
  /** Valid values for the required fields. */
  readonly required: Record<string, unknown>
}

/** A valid value of each scalar. */
const samples: Record<string, unknown> = {
  String: 'x',
  Int: 5,
  Float: 0.5,
  Boolean: true,
  DateTime: '2026-01-01T00:00:00.000Z',
  Date: '2026-01-01',
  SafeInt: 5,
  JSONObject: {},
  JSONScalar: 'x',
  ID: 'nobody',
}

/**
 * Every id in the input of a mutation.
 *
 * @param known the values of fields for which any value will not do, by their names
 */
export function mutationCases(known: Record<string, unknown>): MutationCase[] {
  function sample(type: GraphQLInputType): unknown {
    const nullable = getNullableType(type)
    if (isListType(nullable)) return [sample(nullable.ofType)]
    if (!isInputObjectType(nullable)) return samples[getNamedType(nullable).name]
    const required = Object.values(nullable.getFields()).filter(
      // An account is linked by the id of a user or by an external id.
      ({ name, type }) => isNonNullType(type) || (nullable.name === 'LinkAccountInput' && name === 'userId'),
    )
    return Object.fromEntries(required.map((field) => [field.name, known[field.name] ?? sample(field.type)]))
  }
  return rootFields('getMutationType').flatMap(({ name, args }) => {
    const input = getNamedType(args[0]?.type as GraphQLInputType)
    if (!isInputObjectType(input)) throw new Error(`${name} takes no input`)
    const ids = Object.values(input.getFields()).filter(({ type }) => getNamedType(type).name === 'ID')
    return ids.map((field) => ({
      name: `${name}(${field.name})`,
      mutation: name,
      queryOf: (count) => queryOf(name, args[0], input, count),
      field: field.name,
      required: sample(input) as Record<string, unknown>,
    }))
  })
}

/** A mutation under an alias for each input. A bulk mutation gets a list of one input each time. */
function queryOf(
  name: string,
  argument: GraphQLArgument | undefined,
  input: GraphQLInputObjectType,
  count: number,
): string {
  const errors = 'userErrors { code field message }'
  const isBulk = argument?.name === 'inputs'
  const indexes = Array.from({ length: count }, (_, index) => index)
  const calls = indexes.map((index) =>
    isBulk
      ? `m${index}: ${name}(inputs: [$i${index}]) { results { ${errors} } }`
      : `m${index}: ${name}(input: $i${index}) { ${errors} }`,
  )
  return `mutation (${indexes.map((index) => `$i${index}: ${input.name}!`).join(', ')}) { ${calls.join(' ')} }`
}

/** The variables of `queryOf`. */
export const inputsOf = (inputs: readonly unknown[]) =>
  Object.fromEntries(inputs.map((input, index) => [`i${index}`, input]))

/**
 * A query of a connection, with the variables `filter`, `after` and `before`, and the fields of its filter that are
 * texts.
 */
export function listCase({ name, args }: GraphQLField<unknown, unknown>, selected: string) {
  const filter = args.find((arg) => arg.name === 'filter')?.type
  const filterType = filter && getNamedType(filter)
  const query = filterType
    ? `query ($filter: ${filterType.name}, $after: String, $before: String) {
        ${name}(first: 5, filter: $filter, after: $after, before: $before) ${selected} }`
    : `query ($after: String, $before: String) { ${name}(first: 5, after: $after, before: $before) ${selected} }`
  const fields = isInputObjectType(filterType) ? Object.values(filterType.getFields()) : []
  return { query, texts: fields.filter(({ type }) => String(type) === 'String').map((field) => field.name) }
}

/**
 * Filters and pages that would show rows of others. A filter and a cursor are conditions of their own, joined by AND,
 * so pairs are enough: each filter on the first page, each cursor without a filter, and one filter with one cursor.
 *
 * @param texts the fields of the filter that are texts
 * @param cursors of rows of others
 */
export function listVariables(texts: readonly string[], cursors: readonly string[]) {
  const ends = [...new Set([cursors.at(0), cursors.at(-1)])]
  const words = ['Theirs', 'Theirs@example.com', 'o']
  return [
    { filter: {} },
    { filter: {}, before: null },
    ...ends.flatMap((cursor) =>
      [{ after: cursor }, { before: cursor }].map((position) => ({ filter: {}, ...position })),
    ),
    ...texts.flatMap((field) => words.map((word) => ({ filter: { [field]: word } }))),
    ...texts.slice(0, 1).map((field) => ({ filter: { [field]: 'o' }, after: ends[0] })),
  ]
}
