import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import {
  buildSchema,
  type GraphQLEnumType,
  type GraphQLInterfaceType,
  type GraphQLOutputType,
  getNamedType,
  getNullableType,
  isAbstractType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
} from 'graphql'

const root = path.resolve(import.meta.dirname, '../..')

/** Where the lists of the client package are written. */
export const clientListsPath = path.join(root, 'packages/client/src/generated.ts')

/** How values of scalars arrive in JSON. */
const scalarTypes = {
  Boolean: 'boolean',
  Date: 'string',
  DateTime: 'string',
  Float: 'number',
  ID: 'string',
  Int: 'number',
  JSONObject: '{ [key: string]: unknown }',
  JSONScalar: 'string | number | boolean',
  SafeInt: 'number',
  String: 'string',
}

/** The parts of an error or a lease belong to one attempt: they are replaced. */
const replacedAsWhole = /^Job(Error|Lease)$/

/**
 * Generates what the caches of clients must know of schema.graphql.
 *
 * @throws Error if a scalar has no type
 */
export function generateClientLists(): string {
  const schema = buildSchema(readFileSync(path.join(root, 'schema.graphql'), 'utf8'))
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'))
  const objects = types.filter(isObjectType)
  const fields = objects.flatMap((type) =>
    Object.values(type.getFields()).map(({ name, type: result, args }) => ({
      parent: type.name,
      name,
      type: result,
      args,
    })),
  )
  const fieldsOf = (parent: string) => fields.filter((field) => field.parent === parent)

  const hasId = (name: string) => fieldsOf(name).some((field) => field.name === 'id')
  const ofType = ({ type }: { readonly type: GraphQLOutputType }) => getNamedType(type).name
  const isList = ({ type }: { readonly type: GraphQLOutputType }) => isListType(getNullableType(type))
  const isObject = (field: { readonly type: GraphQLOutputType }) => isObjectType(getNamedType(field.type))

  const possibleTypes = types
    .filter(isAbstractType)
    .map((type) => [type.name, schema.getPossibleTypes(type).map(({ name }) => name)] as const)

  const pages = ['first', 'after', 'last', 'before']
  const paged = fields.filter(
    ({ parent, type }) => parent !== 'Subscription' && /Connection$/.test(getNamedType(type).name),
  )
  const argumentsOf = ({ args }: (typeof fields)[number]) =>
    args.map(({ name }) => name).filter((name) => !pages.includes(name))
  const pagedByParent = Object.fromEntries(
    Array.from(
      Map.groupBy(paged, ({ parent }) => parent),
      ([parent, own]) => [parent, Object.fromEntries(own.map((field) => [field.name, argumentsOf(field)]))],
    ),
  )

  // Connections, edges and payloads belong to the field that returns them.
  const isOfField = (name: string) => /^(Query|Mutation|Subscription|PageInfo)$|(Connection|Edge|Payload)$/.test(name)
  const unnamed = objects.map(({ name }) => name).filter((name) => !hasId(name) && !isOfField(name))
  const singletons = unnamed.filter((name) => {
    const uses = fields.filter((field) => ofType(field) === name)
    return uses.every((field) => field.parent === 'Query' && field.args.length === 0 && !isList(field))
  })
  const statistics = unnamed.filter((name) => {
    const isSingle = fields.some((field) => field.parent !== 'Subscription' && ofType(field) === name && !isList(field))
    return isSingle && !singletons.includes(name) && !replacedAsWhole.test(name)
  })
  const parts = unnamed.filter((name) => !singletons.includes(name) && !statistics.includes(name))

  const replaced = fields.filter((field) => {
    const isOfCache = field.parent === 'Subscription' || hasId(field.parent)
    return isOfCache && isList(field) && isObject(field) && hasId(ofType(field))
  })

  const namesByParent = Object.fromEntries(
    Array.from(
      Map.groupBy(replaced, ({ parent }) => parent),
      ([parent, own]) => [parent, own.map(({ name }) => name)],
    ),
  )

  const deletions = fields.flatMap(({ parent, name }) => {
    const [, type] = /^(?:deleted|unlinked)(\w+?)Ids?$/.exec(name) ?? []
    return type && hasId(type) ? [{ parent, name, type }] : []
  })
  const deletedTypes = new Set(deletions.map(({ type }) => type))
  const results = fields.filter(({ name }) => name === 'results')
  const deletingPayloads = deletions.flatMap(({ parent }) => [
    parent,
    ...results.filter((field) => ofType(field) === parent).map((field) => field.parent),
  ])
  const deletingMutations = fieldsOf('Mutation').filter((field) => deletingPayloads.includes(ofType(field)))

  // What belongs to a deleted object is deleted with it.
  const owners = (name: string) =>
    fieldsOf(name)
      .filter((field) => !isList(field) && field.args.length === 0)
      .map(ofType)
  const isDeleted = (name: string) =>
    deletedTypes.has(name) || (name !== 'Event' && owners(name).some((owner) => deletedTypes.has(owner)))
  const counted = fieldsOf('Query').filter((field) => {
    const [, node] = /^(\w+)Connection$/.exec(ofType(field)) ?? []
    return (node && isDeleted(node)) || /Stats$/.test(ofType(field))
  })

  // Mutations that create return the object, or the results of many.
  const nodes = new Set(schema.getPossibleTypes(schema.getType('Node') as GraphQLInterfaceType).map(({ name }) => name))
  const creations = fieldsOf('Mutation').flatMap((field) => {
    const many = results.find(({ parent }) => parent === ofType(field))
    const created = fieldsOf(ofType(many ?? field)).find((each) => nodes.has(ofType(each)))
    const isCreation = created && /^(create|link|sync|upsert)/.test(field.name)
    return isCreation ? [[field.name, ofType(created)] as const] : []
  })
  const createdTypes = new Set(creations.map(([, type]) => type))

  const nodeOf = (field: { readonly type: GraphQLOutputType }) => ofType(field).replace(/Connection$/, '')
  /** A type, and those that have it: their lists can be filtered by it. */
  const withOwners = (name: string): readonly string[] => [
    name,
    ...fieldsOf(name)
      .filter((field) => isNonNullType(field.type) && !isList(field) && nodes.has(ofType(field)))
      .flatMap((field) => withOwners(ofType(field))),
  ]
  const changedBy = (type: string) =>
    fields.filter((field) => {
      const isOfQuery = field.parent === 'Query'
      if (nodeOf(field) === type) {
        // An object that cannot be missing was there before.
        const canBeNew = paged.includes(field) || isList(field) || !isNonNullType(field.type)
        return isOfQuery || (canBeNew && nodes.has(field.parent) && field.parent !== type)
      }
      return (
        isOfQuery &&
        (/Stats$/.test(ofType(field)) || (paged.includes(field) && withOwners(type).includes(nodeOf(field))))
      )
    })
  const changedByCreation = Array.from(createdTypes, (type) => {
    const byParent = Map.groupBy(changedBy(type), ({ parent }) => parent)
    return [type, Object.fromEntries(Array.from(byParent, ([parent, own]) => [parent, own.map(({ name }) => name)]))]
  })

  /** The events with such an ending, and the types of their resources. */
  const eventsOf = (ending: RegExp, subjects: ReadonlySet<string>) =>
    (schema.getType('EventType') as GraphQLEnumType).getValues().flatMap(({ name }) => {
      const [noun = '', verb = ''] = name.split('_')
      const type = noun.charAt(0) + noun.slice(1).toLowerCase()
      return ending.test(verb) && subjects.has(type) ? [[name, type] as const] : []
    })

  const scalars = types.filter(isScalarType).map(({ name }) => {
    if (!Object.hasOwn(scalarTypes, name))
      throw new Error(`The scalar ${name} needs a type in tools/clients/write-lists.ts.`)
    return name as keyof typeof scalarTypes
  })

  return `// Generated from schema.graphql: npm run schema

/** Interfaces, and the types of their objects. Without them a cache drops the fields of \`... on Node\`. */
export const possibleTypes: Lists = ${json(Object.fromEntries(possibleTypes))}

/** The lists with pages of each type, and the arguments that make another list. */
export const pagedLists: Readonly<Record<string, Lists>> = ${json(pagedByParent)}

/** The lists of objects without pages, by type. Each result replaces the one before. */
export const replacedLists: Lists = ${json(namesByParent)}

/** There is one of each, so their key is their name. */
export const singletons: string[] = ${json(singletons)}

/** Parts of a page read different numbers of the same statistics, which belong together. */
export const statistics: string[] = ${json(statistics)}

/** Other objects without an id. They are parts of the object that has them. */
export const parts: string[] = ${json(parts)}

/** The fields of Query that a deletion changes. */
export const countedFields: string[] = ${json(counted.map(({ name }) => name))}

/** The mutations that delete. */
export const deletingMutations: string[] = ${json(deletingMutations.map(({ name }) => name))}

/** The fields of their results that name what was deleted, and its type. */
export const deletedIds: Readonly<Record<string, string>> = ${json(Object.fromEntries(deletions.map(({ name, type }) => [name, type])))}

/** The events of deletions, and the type of their \`resourceId\`. */
export const deletedByEvent: Readonly<Record<string, string>> = ${json(Object.fromEntries(eventsOf(/^(DELETED|UNLINKED)$/, deletedTypes)))}

/** The mutations that create, and the type of what they create. A profile that is synced may be a new one. */
export const creatingMutations: Readonly<Record<string, string>> = ${json(Object.fromEntries(creations))}

/** The events of creations, and the type of their \`resourceId\`. */
export const createdByEvent: Readonly<Record<string, string>> = ${json(Object.fromEntries(eventsOf(/^(CREATED|LINKED|SYNCED)$/, createdTypes)))}

/**
 * The fields that a new object of a type changes, by their type: its lists, those of objects that it belongs to, and
 * numbers.
 */
export const changedByCreation: Readonly<Record<string, Lists>> = ${json(Object.fromEntries(changedByCreation))}

/** The scalars, for the \`scalars\` of GraphQL Codegen and the \`customScalarTypes\` of Relay. */
export const scalars: Readonly<Record<string, string>> = ${json(Object.fromEntries(scalars.map((name) => [name, scalarTypes[name]])))}

type Lists = Readonly<Record<string, string[]>>
`
}

const json = (value: unknown) => JSON.stringify(value, null, 2)

if (import.meta.main) writeFileSync(clientListsPath, generateClientLists())
