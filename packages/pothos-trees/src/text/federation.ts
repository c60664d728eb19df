import { type GatewayError, invalidField, ownValue } from '@fusion-gateway/base'
import { maxPageSize } from '@fusion-gateway/prisma-trees'
import { getTypeBrand } from '@pothos/core'
import {
  type GraphQLField,
  type GraphQLFieldConfigMap,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  GraphQLUnionType,
  getNamedType,
  getNullableType,
  isLeafType,
  isListType,
  isObjectType,
} from 'graphql'
import { type FieldMetadata, metadataKey, metadataOf, rowsOfParent } from '../field-metadata.ts'
import { defaultPageSize } from '../lists/connection.ts'
import { plannedLoaders } from '../lists/related-rows.ts'
import { maskEntries } from '../masked.ts'
import type { Context } from '../types.ts'
import { nullability, printSortedSchema, requiresScopes } from './semantic-nullability.ts'

/** A key besides the id: the fields by which other subgraphs can refer to an object. */
export interface EntityKey<Field extends string = string> {
  readonly fields: readonly Field[]
  /** Finds the ids of the objects with these keys, undefined where there is none. Sends one statement. */
  findIds(keys: readonly Readonly<Record<Field, string>>[], context: Context): Promise<(string | undefined)[]>
}

/** The types that other subgraphs can refer to: nodes, by their id, and by other keys. */
export type Entities = Readonly<Record<string, readonly EntityKey[]>>

/**
 * Loads the objects of a type that have ids, for each id its row, null if there is none, or the error FORBIDDEN if the
 * viewer lacks the scope of the type.
 */
export type LoadObjects = (
  typename: string,
  ids: readonly string[],
  context: Context,
) => Promise<readonly (object | GatewayError | null)[]>

const link = `extend schema
  @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@cost", "@key", "@listSize", "@shareable"])`

/**
 * The text of a schema for the composition of a supergraph. It leaves out `node` and `nodes`: several subgraphs can
 * have them, and each finds only its own objects. Routers estimate the cost of an operation by its directives.
 *
 * @see https://www.apollographql.com/docs/graphos/schema-design/federated-schemas/reference/subgraph-spec
 */
export function printSubgraph(schema: GraphQLSchema, entities: Entities): string {
  const { directives, ...config } = withQuery(schema, ({ node: _node, nodes: _nodes, ...fields }) => fields).toConfig()
  // A router would check the scopes itself, and describes the supergraph.
  const known = directives.filter((directive) => directive !== requiresScopes)
  const composed = new GraphQLSchema({ ...config, directives: known, description: null })
  const text = printSortedSchema(composed, {
    type({ name }) {
      if (name === 'PageInfo') return ['@shareable']
      return keysOf(ownValue(entities, name)).map((key) => `@key(fields: "${key.join(' ')}")`)
    },
    field: (field, parent) => [...nullability.field(field, parent), ...costDirectives(field, parent)],
  })
  return `${link}\n\n${text.replaceAll(oneOf, '')}\n`
}

/** Apollo's composition does not know the directive, so routers leave the check to the subgraph. */
const oneOf = /(?<=^input \w+) @oneOf(?= \{$)/gm

function keysOf(others: readonly EntityKey[] | undefined): readonly (readonly string[])[] {
  return others ? [['id'], ...others.map(({ fields }) => fields)] : []
}

/** The types of pages: the arguments of the field that returns a page say how long its lists are. */
const pageType = /Connection$/

const isObjectList = ({ type }: GraphQLField<unknown, unknown>): boolean =>
  isListType(getNullableType(type)) && !isLeafType(getNamedType(type))

/** What a router needs to charge a field as its metadata says. */
function costDirectives(field: GraphQLField<unknown, unknown>, parent: GraphQLObjectType): readonly string[] {
  const { cost } = metadataOf(field)
  const extra = cost?.extra?.({}, false) ?? 0
  const weight = extra > 0 ? [`@cost(weight: ${extra})`] : []
  const type = getNamedType(field.type)
  const isPage = isObjectType(type) && pageType.test(type.name)
  if (!isPage && (pageType.test(parent.name) || !isObjectList(field))) return weight
  const length = typeof cost?.length === 'number' ? cost.length : rowsOfParent
  const sized = isPage ? Object.values(type.getFields()).filter(isObjectList) : []
  const pageSizes = field.args.filter(({ name }) => name === 'first' || name === 'last')
  const slicing = pageSizes.map(({ name }) => name)
  // With a default there is always a size.
  const isKnown = pageSizes.some(({ defaultValue }) => defaultValue !== undefined)
  const size = [
    ...(isKnown ? [] : [`assumedSize: ${isPage ? defaultPageSize : length}`]),
    ...(isPage ? [`sizedFields: ${JSON.stringify(sized.map(({ name }) => name))}`] : []),
    ...(slicing.length > 0 ? [`slicingArguments: ${JSON.stringify(slicing)}`, 'requireOneSlicingArgument: false'] : []),
  ]
  return [...weight, `@listSize(${size.join(', ')})`]
}

type Fields = GraphQLFieldConfigMap<unknown, Context>

function withQuery(schema: GraphQLSchema, change: (fields: Fields) => Fields): GraphQLSchema {
  const { types, query: old, ...config } = schema.toConfig()
  const { fields, ...query } = (old as GraphQLObjectType).toConfig()
  const changed = new GraphQLObjectType({ ...query, fields: change(fields) })
  return new GraphQLSchema({ ...config, query: changed, types: types.filter((type) => type !== old) })
}

/**
 * Adds to a schema what a router asks a subgraph: `_service`, the text of the schema, and `_entities`, the objects of
 * references.
 *
 * @param load loads the objects of a type
 */
export function extendToSubgraph(
  schema: GraphQLSchema,
  entities: Entities,
  sdl: string,
  load: LoadObjects,
): GraphQLSchema {
  const representation = new GraphQLScalarType({
    name: '_Any',
    description: 'A reference to an object: its `__typename`, and the fields of one of its keys.',
  })
  const entity = new GraphQLUnionType({
    name: '_Entity',
    description: 'An object to which other subgraphs refer.',
    types: Object.keys(entities)
      .map((name) => schema.getType(name))
      .filter(isObjectType),
    resolveType: (row) => String(getTypeBrand(row)),
  })
  const service = new GraphQLObjectType({
    name: '_Service',
    description: 'What a router needs to know of this subgraph.',
    fields: { sdl: { type: new GraphQLNonNull(GraphQLString), description: 'Its schema, for composition.' } },
  })
  const metadata: FieldMetadata = { scope: 'inherited', cost: { length: { asArgument: 'representations' } } }
  return withQuery(schema, (fields) => ({
    ...fields,
    _entities: {
      type: new GraphQLNonNull(new GraphQLList(entity)),
      description:
        'Returns the objects of references, in their order, with null for those that are missing. Needs the scopes of their types.',
      args: {
        representations: {
          type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(representation))),
          description: 'The references.',
        },
      },
      extensions: { [metadataKey]: metadata },
      resolve: async (_, { representations }: Representations, context, info) => {
        const planned = { ...context, loaders: plannedLoaders(context, info) }
        return maskEntries(context, info, await loadEntities(entities, representations, planned, load))
      },
    },
    _service: {
      type: new GraphQLNonNull(service),
      description: 'Describes this subgraph to a router.',
      extensions: { [metadataKey]: { scope: 'inherited' } satisfies FieldMetadata },
      resolve: () => ({ sdl }),
    },
  }))
}

/**
 * Loads the objects of references, of which a router sends as many as its query has. It reads 500 at a time, with one
 * statement for each type, whatever relations are selected below them, and one more for each key that is not the id.
 *
 * @returns for each reference its object, null if there is none, or an error: BAD_USER_INPUT for one without a known
 *   type or key
 */
async function loadEntities(
  entities: Entities,
  representations: readonly unknown[],
  context: Context,
  load: LoadObjects,
): Promise<(object | GatewayError | null)[]> {
  const read = representations.map((representation) => readReference(entities, representation))
  const references = read.filter((reference) => typeof reference === 'object')
  const found = new Map<Reference, object | GatewayError | null>()
  for (let from = 0; from < references.length; from += maxPageSize) {
    await loadReferences(references.slice(from, from + maxPageSize), found, context, load)
  }
  return read.map((reference, index) =>
    typeof reference === 'string'
      ? invalidField(`representations.${index}`, 'INVALID_FORMAT', reference)
      : (found.get(reference) ?? null),
  )
}

async function loadReferences(
  references: readonly Reference[],
  found: Map<Reference, object | GatewayError | null>,
  context: Context,
  load: LoadObjects,
): Promise<void> {
  const idOf = new Map<Reference, string | undefined>(
    references.map((reference) => [reference, reference.values['id']]),
  )
  for (const [key, of] of Map.groupBy(references, ({ key }) => key)) {
    if (!key) continue
    const ids = await key.findIds(
      of.map(({ values }) => values),
      context,
    )
    for (const [index, reference] of of.entries()) idOf.set(reference, ids[index])
  }
  const loadAll = async ([typename, of]: readonly [string, readonly Reference[]]) => {
    // Ids have at least one character.
    const rows = await load(
      typename,
      of.map((reference) => idOf.get(reference) ?? ''),
      context,
    )
    for (const [index, reference] of of.entries()) found.set(reference, rows[index] ?? null)
  }
  await Promise.all([...Map.groupBy(references, ({ typename }) => typename)].map(loadAll))
}

interface Representations {
  readonly representations: readonly unknown[]
}

interface Reference {
  readonly typename: string
  /** Undefined: by the id. */
  readonly key: EntityKey | undefined
  readonly values: Readonly<Record<string, string>>
}

/** Reads a reference. Returns what is wrong with it if it has no known type or key. */
function readReference(entities: Entities, representation: unknown): Reference | string {
  const values = representation as Readonly<Record<string, unknown>> | null
  const typename = ownValue(values, '__typename')
  const keys = typeof typename === 'string' ? ownValue(entities, typename) : undefined
  if (!keys) return `must have one of these as __typename: ${Object.keys(entities).join(', ')}`
  for (const key of [undefined, ...keys]) {
    const fields = key?.fields ?? ['id']
    const given = fields.map((field) => [field, ownValue(values, field)] as const)
    if (given.every(([, value]) => typeof value === 'string' || Number.isSafeInteger(value))) {
      const texts = Object.fromEntries(given.map(([field, value]) => [field, String(value)]))
      return { typename: typename as string, key, values: texts }
    }
  }
  return `must have the key ${keysOf(keys)
    .map((key) => key.join(' '))
    .join(', or ')}`
}
