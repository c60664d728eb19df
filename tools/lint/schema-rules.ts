import {
  type DefinitionNode,
  type DirectiveNode,
  type DocumentNode,
  type FieldDefinitionNode,
  type InputObjectTypeDefinitionNode,
  Kind,
  type ObjectTypeDefinitionNode,
  type TypeNode,
} from 'graphql'

/**
 * The rules of the schema for which graphql-eslint has none. Clients rely on them for every type, so a new type needs
 * them too. test/graphql/schema-rules.embedded.test.ts breaks each.
 *
 * @param document the text of the schema, as graphql-js parses it
 * @returns a sentence for each place that breaks a rule
 */
export function problemsOf({ definitions }: DocumentNode): string[] {
  const [schema] = definitionsOf(definitions, Kind.SCHEMA_DEFINITION)
  const objects = definitionsOf(definitions, Kind.OBJECT_TYPE_DEFINITION)
  const inputs = definitionsOf(definitions, Kind.INPUT_OBJECT_TYPE_DEFINITION)
  const query = objects.find(({ name }) => name.value === 'Query')?.fields ?? []
  const nodes = objects.filter(({ interfaces = [] }) => interfaces.some(({ name }) => name.value === 'Node'))
  const nodeNames = nodes.map(({ name }) => name.value)
  return [
    ...(schema?.description ? [] : ['The schema has no description']),
    ...nodeNames
      .filter((name) => !query.some((field) => returnsById(field, name)))
      .map((name) => `Query has no field that returns ${name} by its id`),
    ...inputs.filter(({ name }) => filtersOf(query, nodeNames).includes(name.value)).flatMap(problemsOfFilter),
    ...inputs.filter(isEitherOr).map(({ name }) => `${name.value} says in words that one field is given: use @oneOf`),
    ...definitionsOf(definitions, Kind.SCALAR_TYPE_DEFINITION)
      .filter((scalar) => !directiveOf(scalar, 'specifiedBy'))
      .map(({ name }) => `${name.value} has no @specifiedBy`),
    ...objects.flatMap(unevenScopesOf),
  ]
}

function definitionsOf<K extends DefinitionNode['kind']>(definitions: readonly DefinitionNode[], kind: K) {
  return definitions.filter((one): one is Extract<DefinitionNode, { kind: K }> => one.kind === kind)
}

function directiveOf(
  { directives = [] }: { readonly directives?: readonly DirectiveNode[] | undefined },
  name: string,
) {
  return directives.find((directive) => directive.name.value === name)
}

/** `[User!]!` ⇒ `User` */
function nameOf(type: TypeNode): string {
  return type.kind === 'NamedType' ? type.name.value : nameOf(type.type)
}

function returnsById({ arguments: [id, ...others] = [], type }: FieldDefinitionNode, typename: string): boolean {
  return id?.name.value === 'id' && others.length === 0 && type.kind === 'NamedType' && type.name.value === typename
}

/** The names of the filters of lists of Query whose rows are nodes. */
function filtersOf(query: readonly FieldDefinitionNode[], nodeNames: readonly string[]): string[] {
  return query.flatMap(({ type, arguments: args = [] }) => {
    const row = /^(\w+)Connection$/.exec(nameOf(type))?.[1]
    const filter = args.find(({ name }) => name.value === 'filter')
    return filter && row !== undefined && nodeNames.includes(row) ? [nameOf(filter.type)] : []
  })
}

/** A filter has ids and logic, and where it has one state, platform or type, several. */
function problemsOfFilter({ name, fields = [] }: InputObjectTypeDefinitionNode): string[] {
  const names = fields.map((field) => field.name.value)
  const plurals = new Map([
    ['status', 'statuses'],
    ['jobType', 'jobTypes'],
    ['platform', 'platforms'],
    ['country', 'countries'],
    ['category', 'categories'],
  ])
  const several = names.flatMap((field) => plurals.get(field) ?? [])
  return ['ids', 'and', 'or', 'not', ...several]
    .filter((field) => !names.includes(field))
    .map((field) => `${name.value} has no field ${field}`)
}

function isEitherOr(input: InputObjectTypeDefinitionNode): boolean {
  const texts = [input, ...(input.fields ?? [])].map(({ description }) => description?.value ?? '')
  return !directiveOf(input, 'oneOf') && texts.some((text) => /\beither\b|\bexactly one\b|\bnot both\b/i.test(text))
}

/** The fields whose scope in their description is not that of `@requiresScopes`. */
function unevenScopesOf({ name, fields = [] }: ObjectTypeDefinitionNode): string[] {
  return fields.flatMap((field) => {
    const inWords = /Needs the scope `([\w:]+)`/.exec(field.description?.value ?? '')?.[1]
    const argument = directiveOf(field, 'requiresScopes')?.arguments?.[0]?.value
    const lists = argument?.kind === 'ListValue' ? argument.values : []
    const scopes = lists.map((list) =>
      (list.kind === 'ListValue' ? list.values : []).map((scope) => (scope.kind === 'StringValue' ? scope.value : '')),
    )
    const expected = inWords === undefined ? [] : [[inWords]]
    const isEven = JSON.stringify(scopes) === JSON.stringify(expected)
    return isEven
      ? []
      : [`${name.value}.${field.name.value} names another scope in its description than in @requiresScopes`]
  })
}
