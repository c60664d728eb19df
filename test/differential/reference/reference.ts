import { readFileSync } from 'node:fs'
import path from 'node:path'
import {
  buildSchema,
  type DocumentNode,
  defaultFieldResolver,
  type ExecutionResult,
  executeSync,
  type GraphQLField,
  type GraphQLFieldResolver,
  GraphQLScalarType,
  type GraphQLSchema,
  isObjectType,
} from 'graphql'
import { projectRoot } from '../../support/docs.ts'
import { forbidden } from './errors.ts'
import { checkFilter, selectEvents, selectRows } from './filters.ts'
import { type ListArguments, nestedRows, type OrderArguments, pageOf } from './lists.ts'
import { findEntity, findNode, nodeOfEvent } from './nodes.ts'
import { scopeIn } from './scopes.ts'
import type { Row } from './tables.ts'
import type { View } from './view.ts'

// The reference: schema.graphql, plain resolvers over arrays of rows, and graphql-js. It imports neither the schema nor
// the reads of the gateway, so it has none of their fast paths.

/** The context of one execution. */
export interface ReferenceContext {
  readonly view: View
}

type Resolver = GraphQLFieldResolver<never, ReferenceContext, never>

const byId =
  (typename: 'User' | 'Account' | 'Profile' | 'EmailRecord' | 'Job' | 'ApiKey'): Resolver =>
  (_, { id }: { id: string }, { view }) =>
    view.byId[typename].get(id) ?? null

function listOf(schema: GraphQLSchema, list: string, typename: 'User' | 'Account' | 'Profile' | 'Job'): Resolver {
  return (_, { filter, ...args }: ListArguments & OrderArguments & { filter?: object }, { view }) =>
    pageOf(view, list, args, args, () => {
      checkFilter(schema, `${typename}Filter`, (filter ?? {}) as never, view)
      return selectRows(view, typename, (filter ?? {}) as never)
    })
}

interface NestedArguments extends OrderArguments {
  readonly first?: number | null
  readonly filter?: object | null
}

/** The accounts of a user that a filter selects. */
function accountsOf(schema: GraphQLSchema, view: View, userId: string, { filter }: NestedArguments): Row[] {
  checkFilter(schema, 'AccountFilter', (filter ?? {}) as never, view)
  return selectRows(view, 'Account', (filter ?? {}) as never).filter((row) => row['userId'] === userId)
}

/** How many rows have each value of a field, the most frequent first. */
function countBy({ order }: View, rows: readonly Row[], field: string) {
  const groups = [...Map.groupBy(rows, (row) => String(row[field]))]
  return groups
    .map(([value, of]) => ({ [field]: value, count: of.length }))
    .sort(
      (one, other) =>
        Number(other['count']) - Number(one['count']) ||
        (order.get(String(one[field])) ?? 0) - (order.get(String(other[field])) ?? 0),
    )
}

/** The fields that are not simply a field of the row. */
const resolversOf = (schema: GraphQLSchema): Readonly<Record<string, Resolver>> => ({
  'Query.user': byId('User'),
  'Query.account': byId('Account'),
  'Query.job': byId('Job'),
  'Query.profile': byId('Profile'),
  'Query.emailRecord': byId('EmailRecord'),
  'Query.apiKey': byId('ApiKey'),
  'Query.users': listOf(schema, 'users', 'User'),
  'Query.accounts': listOf(schema, 'accounts', 'Account'),
  'Query.searchProfiles': listOf(schema, 'searchProfiles', 'Profile'),
  'Query.jobs': listOf(schema, 'jobs', 'Job'),
  'Query.apiKeys': (_, args: ListArguments, { view }) => pageOf(view, 'apiKeys', args, {}, () => [...view.rows.ApiKey]),
  'Query.events': (_, { filter, ...page }: ListArguments & { filter?: object }, { view }) =>
    pageOf(view, 'events', page, {}, () => selectEvents(view, (filter ?? {}) as never)),
  'Query.node': (_, { id }: { id: string }, { view }) => findNode(view, id),
  'Query.nodes': (_, { ids }: { ids: string[] }, { view }) => ids.map((id) => findNode(view, id)),
  'Query._entities': (_, { representations }: { representations: Readonly<Record<string, unknown>>[] }, { view }) =>
    representations.map((reference) => findEntity(view, reference)),
  'Query.profiles': (_, { accountIds }: { accountIds: string[] }, { view }) =>
    [...new Set(accountIds)].flatMap((id) => view.profileOf.get(id) ?? []),
  'Query.tenantStats': () => ({}),
  'Query.viewer': () => ({}),
  'TenantStats.users': (_, __, { view }) => view.rows.User.length,
  'TenantStats.accounts': (_, __, { view }) => view.rows.Account.length,
  'TenantStats.profiles': (_, __, { view }) => view.rows.Profile.length,
  'TenantStats.accountsByPlatform': (_, __, { view }) => countBy(view, view.rows.Account, 'platform'),
  'TenantStats.jobsByStatus': (_, __, { view }) => countBy(view, view.rows.Job, 'status'),
  'Viewer.tenantApp': (_, __, { view }) => ({ id: view.tenantAppId, name: view.tenantName }),
  'Viewer.keyName': (_, __, { view }) => view.keyName,
  'Viewer.scopes': (_, __, { view }) => view.scopes,
  'Viewer.user': (_, __, { view }) => (view.userId === undefined ? null : view.byId.User.get(view.userId)),
  'User.tenantApp': (_, __, { view }) => ({ id: view.tenantAppId, name: view.tenantName }),
  'User.accounts': ({ id }: Row, args: NestedArguments, { view }) =>
    nestedRows(view, args, () => accountsOf(schema, view, id, args)),
  'User.accountsConnection': ({ id }: Row, args: NestedArguments & ListArguments, { view }) =>
    pageOf(view, 'accounts', args, args, () => accountsOf(schema, view, id, args)),
  'Account.user': (row: Row, _, { view }) => view.byId.User.get(String(row['userId'])),
  'Account.profile': ({ id }: Row, _, { view }) => view.profileOf.get(id) ?? null,
  'Profile.account': (row: Row, _, { view }) => view.byId.Account.get(String(row['accountId'])),
  'Profile.emails': ({ id }: Row, args: NestedArguments, { view }) =>
    nestedRows(view, args, () => view.emailsOf.get(id) ?? []),
  // Rows that were written before the column existed were synchronized when they last changed.
  'Profile.syncedAt': (row: Row) => row['syncedAt'] ?? row['updatedAt'],
  'EmailRecord.profile': (row: Row, _, { view }) => view.byId.Profile.get(String(row['profileId'])),
  'ApiKey.creator': (row: Row, _, { view }) => view.byId.ApiKey.get(String(row['creatorId'])) ?? null,
  'Event.user': (row: Row, _, { view }) => view.byId.User.get(String(row['userId'])) ?? null,
  'Event.node': (row: Row, _, { view }) => nodeOfEvent(view, row),
})

/** Adds the check of the scope that the description of a field names. */
function guarded({ description }: GraphQLField<unknown, unknown>, resolve: Resolver): Resolver {
  const scope = scopeIn(description)
  if (scope === undefined) return resolve
  return (parent, args, context, info) => {
    if (context.view.scopes.includes(scope)) return resolve(parent, args, context, info)
    throw forbidden(scope)
  }
}

/** What the schema of a subgraph has besides schema.graphql, without the text that `_service` returns. */
const subgraphText = `
  scalar _Any
  union _Entity = User | Account | Profile | EmailRecord | Job
  extend type Query { _entities(representations: [_Any!]!): [_Entity]! }
`

/** The schema of the reference: that of a gateway, or of one that is a subgraph. */
export function createReferenceSchema({ isSubgraph = false } = {}): GraphQLSchema {
  const text = readFileSync(path.join(projectRoot, 'schema.graphql'), 'utf8')
  const schema = buildSchema(isSubgraph ? text + subgraphText : text)
  const resolvers = resolversOf(schema)
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue
    for (const field of Object.values(type.getFields())) {
      const resolve = resolvers[`${type.name}.${field.name}`] ?? (defaultFieldResolver as Resolver)
      field.resolve = guarded(field, resolve) as never
    }
  }
  const time = schema.getType('DateTime')
  if (!(time instanceof GraphQLScalarType)) throw new Error('schema.graphql has no DateTime')
  time.parseValue = (value) => new Date(String(value))
  time.parseLiteral = (node) => new Date('value' in node ? String(node.value) : '')
  return schema
}

/** What a holder should get for a query. */
export function executeReference(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
  view: View,
  rootValue?: unknown,
): ExecutionResult {
  const contextValue: ReferenceContext = { view }
  return executeSync({ schema, document, variableValues: variables, contextValue, rootValue })
}
