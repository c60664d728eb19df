import { brandWithType, type ObjectRef } from '@pothos/core'
import { requireScope, type Scope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import type { Model, Row } from '../../db/data-model.ts'
import type { Ids } from '../../db/ids.ts'
import type { Relation, SelectedRow } from '../../db/read/relation.ts'
import { invalidField } from '../../errors.ts'
import { builder } from './builder.ts'
import { loadRow } from './rows.ts'

interface NodeRow {
  readonly id: string
}

/** An object that `node` finds by its id. */
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
}

const nodeTypes: NodeType[] = []

/**
 * Makes `node` find the objects of a type.
 *
 * @param scope that a viewer needs to read them
 * @param relation loads a row by its id
 * @param options.hasOnlyOwnIds whether all ids have the prefix of `ids`, because such rows are not imported
 */
export function registerNode(
  typename: string,
  ids: Ids,
  scope: Scope,
  relation: Relation,
  { hasOnlyOwnIds = false } = {},
): void {
  nodeTypes.push({ typename, ids, scope, relation, hasOnlyOwnIds })
}

/**
 * Finds the row of an id. The prefix of an id tells its type. If the prefix is unknown, or that type has no such row, the types with
 * imported rows are searched: one statement per type, plus one per planned tree. If rows of two types have the id, the type that was
 * registered first is returned.
 *
 * Types that the viewer may not read are not searched, so that an error never reveals that a row exists.
 *
 * @throws GatewayError FORBIDDEN if the id may belong to a type that the viewer may not read
 */
async function loadNode(id: string, { viewer, loaders }: Context): Promise<NodeRow | null> {
  const load = async ({ relation }: NodeType) => (await loaders.load(relation, id)) as NodeRow | null
  const expected = nodeTypes.find(({ ids }) => id.startsWith(ids.prefix))
  if (expected) {
    requireScope(viewer, expected.scope)
    const row = await load(expected)
    if (row) return asNode(expected, row)
  }
  const others = nodeTypes.filter(({ hasOnlyOwnIds }) => !hasOnlyOwnIds)
  const readable = others.filter(({ scope }) => viewer.scopes.includes(scope))
  const rows = await Promise.all(readable.map(load))
  const index = rows.findIndex((row) => row !== null)
  const [type, row] = [readable[index], rows[index]]
  if (type && row) return asNode(type, row)
  if (!expected) for (const { scope } of others) requireScope(viewer, scope)
  return null
}

function asNode({ typename }: NodeType, row: NodeRow): NodeRow {
  // Pothos accepts a name too, although its types do not say so.
  brandWithType(row, typename as never)
  return row
}

/** Defines the query field that returns the object with an id: `user(id: ID!): User`. */
export function defineQueryById<M extends Model>(
  name: string,
  type: ObjectRef<(typeof builder)['$inferSchemaTypes'], Row<M>>,
  scope: Scope,
  relation: Relation<M, SelectedRow<M> | null>,
): void {
  builder.queryField(name, (t) =>
    t.field({
      type,
      nullable: true,
      scope,
      description: `Returns the ${name} with this id, or null if your tenant has none.`,
      args: { id: t.arg.id({ required: true, description: `The id of the ${name}.` }) },
      resolve: (_, { id }, { loaders }) => loadRow(loaders, relation, id) as never,
    }),
  )
}

const maxNodes = 500

/** An error as an entry of a list. The executor reports it at the position of the entry. */
function asEntry(error: unknown): never {
  return error as never
}

builder.queryFields((t) => ({
  node: t.field({
    type: Node,
    nullable: true,
    scope: 'inherited',
    description: 'Returns the object with this id, or null if your tenant has none. Needs the scope of its type.',
    args: { id: t.arg.id({ required: true, description: 'The id.' }) },
    resolve: (_, { id }, context) => loadNode(id, context),
  }),
  nodes: t.field({
    type: [Node],
    cost: { length: { asArgument: 'ids' } },
    nullable: { list: false, items: true },
    scope: 'inherited',
    description: `Returns the objects with up to ${maxNodes} ids, in the order of the ids, with null for ids that your tenant does not have. Needs the scopes of their types.`,
    args: { ids: t.arg.idList({ required: true, description: 'The ids.' }) },
    resolve: (_, { ids }, context) => {
      if (ids.length > maxNodes) throw invalidField('ids', 'OUT_OF_RANGE', `must have at most ${maxNodes} entries`)
      // An error belongs to its own entry. Both executors accept errors as values; from rejected promises graphql-jit 0.8
      // creates one entry too many.
      return Promise.all(ids.map((id) => loadNode(id, context).catch(asEntry)))
    },
  }),
}))
