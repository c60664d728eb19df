import { forbidden, type GatewayError, type Scope } from '@fusion-gateway/base'
import { dataModel } from '@fusion-gateway/database'
import type { Context } from '@fusion-gateway/gateway-kit'
import { mask, maskEntries, plannedLoaders, requireShortList } from '@fusion-gateway/pothos-trees'
import { type Model, maxPageSize, type Relation } from '@fusion-gateway/prisma-trees'
import type { Ids } from '@fusion-gateway/sql'
import { brandWithType } from '@pothos/core'
import type { GraphQLResolveInfo } from 'graphql'
import { builder } from './builder.ts'

interface NodeRow {
  readonly id: string
}

export const Node = builder.interfaceRef<NodeRow>('Node').implement({
  scope: 'inherited',
  description: 'An object with an id. `node(id:)` returns it.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id, the same in GraphQL and REST.' }),
  }),
})

interface NodeType {
  readonly typename: string
  readonly ids: Ids
  readonly scope: Scope
  readonly relation: Relation
  /** Whether all ids have the prefix: such rows are not imported. */
  readonly hasOnlyOwnIds: boolean
  /** Whether a token for a user can have the scope. */
  readonly isForUsers: boolean
}

/** The models of the rows that `node` finds, without keys: who selects something of a key names its type. */
export const nodeModels: readonly Model[] = ['User', 'Account', 'Profile', 'EmailRecord', 'Job', 'Webhook']

/** In the order of schema.prisma, whatever imports a type first. */
const nodeTypes: NodeType[] = []

/**
 * Makes `node` find the objects of a type.
 *
 * @param scope that a viewer needs to read them
 * @param relation loads a row by its id
 * @param options.hasOnlyOwnIds whether all ids have the prefix of `ids`, because such rows are not imported
 * @param options.isForUsers whether a token for a user can have the scope
 */
export function registerNode(
  typename: string,
  ids: Ids,
  scope: Scope,
  relation: Relation,
  { hasOnlyOwnIds = false, isForUsers = true } = {},
): void {
  nodeTypes.push({ typename, ids, scope, relation, hasOnlyOwnIds, isForUsers })
  nodeTypes.sort(
    (one, other) => dataModel.models.indexOf(one.relation.model) - dataModel.models.indexOf(other.relation.model),
  )
}

/**
 * Finds the rows of ids. The prefix of an id tells its type. If the prefix is unknown, or that type has no such row,
 * the types with imported rows are searched. If rows of two types have the id, the one of the type that comes first in
 * schema.prisma is returned. There are at most two statements per type, plus one per planned tree, however many ids
 * there are.
 *
 * Types that the viewer may not read are not searched, so that an error never reveals that a row exists.
 *
 * @returns for each id its row, null if there is none, or the error FORBIDDEN if the id may belong to a type that the
 *   viewer may not read
 */
async function loadNodes(
  ids: readonly string[],
  context: Context,
  info: GraphQLResolveInfo,
): Promise<(NodeRow | GatewayError | null)[]> {
  const { viewer } = context
  const loaders = plannedLoaders(context, info)
  const found = new Map<string, NodeRow>()

  async function search(types: readonly (readonly [NodeType, readonly string[]])[]): Promise<void> {
    const loads = types.map(([{ relation }, of]) => Promise.all(of.map((id) => loaders.load(relation, id))))
    for (const [index, rows] of (await Promise.all(loads)).entries()) {
      const [type] = types[index] as (typeof types)[number]
      for (const row of rows as (NodeRow | null)[]) if (row && !found.has(row.id)) found.set(row.id, asNode(type, row))
    }
  }

  const isReadable = ({ scope }: NodeType) => viewer.scopes.includes(scope)
  const expectedOf = (id: string) => nodeTypes.find((type) => id.startsWith(type.ids.prefix))
  const byType = [...Map.groupBy(new Set(ids), expectedOf)]
  await search(byType.flatMap(([type, of]) => (type && isReadable(type) ? [[type, of] as const] : [])))
  const imported = nodeTypes.filter(({ hasOnlyOwnIds }) => !hasOnlyOwnIds)
  // An id of no known type cannot be that of a type which no token for a user may read.
  const possible = imported.filter(({ isForUsers }) => viewer.userId === undefined || isForUsers)
  const missing = byType.flatMap(([type, of]) => (type && !isReadable(type) ? [] : of.filter((id) => !found.has(id))))
  if (missing.length > 0) await search(imported.filter(isReadable).map((type) => [type, missing]))

  // One error for each scope, because entries with the same are withheld together.
  const errors = new Map<Scope, GatewayError>()
  return ids.map((id) => {
    const row = found.get(id)
    if (row) return row
    const expected = expectedOf(id)
    const refused = (expected ? [expected] : possible).find((type) => !isReadable(type))
    if (!refused) return null
    const error = errors.get(refused.scope) ?? forbidden(refused.scope)
    errors.set(refused.scope, error)
    return error
  })
}

/**
 * Loads the row of a type that has an id, for a field of another row; null if there is none.
 *
 * @throws GatewayError FORBIDDEN if the viewer lacks the scope of the type, as `mask` does
 */
export function loadNode(
  typename: string,
  id: string,
  context: Context,
  info: GraphQLResolveInfo,
): Promise<NodeRow | null> | null {
  const { viewer, loaders } = context
  const type = nodeTypes.find((known) => known.typename === typename)
  if (!type) throw new Error(`${typename} is no node`)
  if (!viewer.scopes.includes(type.scope)) return mask(context, info, type.scope)
  const load = async () => {
    const row = (await loaders.load(type.relation, id)) as NodeRow | null
    return row && asNode(type, row)
  }
  return load()
}

/**
 * Loads the rows of a type that have ids, with one statement and one more for each tree that is not planned.
 *
 * @returns for each id its row, null if there is none, or the error FORBIDDEN if the viewer lacks the scope of the type
 */
export async function loadNodesOf(
  typename: string,
  ids: readonly string[],
  { viewer, loaders }: Context,
): Promise<(NodeRow | GatewayError | null)[]> {
  const type = nodeTypes.find((known) => known.typename === typename)
  if (!type) throw new Error(`${typename} is no node`)
  if (!viewer.scopes.includes(type.scope)) return new Array(ids.length).fill(forbidden(type.scope))
  const distinct = [...new Set(ids)]
  const rows = (await loaders.loadAll(type.relation, distinct)) as (NodeRow | null)[]
  const found = new Map(distinct.map((id, index) => [id, rows[index] ?? null]))
  return ids.map((id) => {
    const row = found.get(id) ?? null
    return row && asNode(type, row)
  })
}

function asNode({ typename }: NodeType, row: NodeRow): NodeRow {
  // Pothos accepts a name too, although its types do not say so.
  brandWithType(row, typename as never)
  return row
}

builder.queryFields((t) => ({
  node: t.field({
    type: Node,
    nullable: true,
    scope: 'inherited',
    description:
      'Returns the object with this id, or null if your tenant has none. Needs the scope of its type. Imported objects of different types can have ' +
      'the same id. Then it returns the one of the type whose prefix the id has, or otherwise the first one of: user, account, profile, email, job. ' +
      'The query of a type, such as `user(id:)`, returns the object of that type.',
    models: nodeModels,
    args: { id: t.arg.id({ required: true, description: 'The id.' }) },
    resolve: async (_, { id }, context, info) => (await loadNodes([id], context, info))[0] as NodeRow | null,
  }),
  nodes: t.field({
    type: [Node],
    cost: { length: { asArgument: 'ids' } },
    nullable: { list: false, items: true },
    scope: 'inherited',
    description: `Returns the objects with up to ${maxPageSize} ids, in the order of the ids, with null for ids that your tenant does not have. Needs the scopes of their types. Of objects that have the same id, it returns the one that \`node\` returns.`,
    models: nodeModels,
    args: { ids: t.arg.idList({ required: true, description: 'The ids.' }) },
    resolve: async (_, { ids }, context, info) => {
      requireShortList(ids, 'ids')
      // An error belongs to its own entry. Both executors accept errors as values.
      return maskEntries(context, info, await loadNodes(ids, context, info)) as (NodeRow | null)[]
    },
  }),
}))
