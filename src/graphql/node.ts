import { brandWithType } from '@pothos/core'
import type { Scope } from '../auth/scopes.ts'
import type { Context } from '../context.ts'
import { idPrefix } from '../db/ids.ts'
import { invalidField } from '../errors.ts'
import { builder } from './builder.ts'
import type { Items } from './price.ts'
import { requireScope } from './require-scope.ts'

/** Anything with an id of its own, that `node` can find. */
export const Node = builder.interfaceRef<NodeRow>('Node').implement({
  scope: 'inherited',
  description: 'Anything that has an id of its own. `node(id:)` finds it by that id.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id: the same on GraphQL and on REST.' }),
  }),
})

interface NodeRow {
  readonly id: string
}

interface NodeType {
  readonly typename: NodeTypename
  readonly scope: Scope
  readonly load: (id: string, context: Context) => Promise<NodeRow | null>
}

type NodeTypename = 'User' | 'Account' | 'Profile' | 'EmailRecord' | 'Job'

const nodeTypes: NodeType[] = []

/** Makes a type one that `node` finds, for keys with the scope. Types are asked in the order in which they come here. */
export function registerNode(typename: NodeTypename, scope: Scope, load: NodeType['load']): void {
  nodeTypes.push({ typename, scope, load })
}

/**
 * Finds the row of an id of any type. An id of ours says its type by its prefix; for any other, and for one that is
 * not found there, every type is asked: at most one statement a type and request, since the loaders batch and remember.
 * Where one id names rows of two types, the type that was registered first has it.
 *
 * What the key may not read is not looked for, so that nobody learns from the refusal that it is there.
 *
 * @throws GatewayError FORBIDDEN when the id may be of a type that the key may not read
 */
async function loadNode(id: string, context: Context): Promise<NodeRow | null> {
  const { viewer } = context
  const expected = nodeTypes.find(({ typename }) => id.startsWith(idPrefix(typename)))
  if (expected) {
    requireScope(viewer, expected.scope)
    const row = await expected.load(id, context)
    if (row) return asNode(expected, row)
  }
  const readable = nodeTypes.filter(({ scope }) => viewer.scopes.includes(scope))
  const rows = await Promise.all(readable.map(({ load }) => load(id, context)))
  const index = rows.findIndex((row) => row !== null)
  const [type, row] = [readable[index], rows[index]]
  if (type && row) return asNode(type, row)
  if (!expected) for (const { scope } of nodeTypes) requireScope(viewer, scope)
  return null
}

function asNode({ typename }: NodeType, row: NodeRow): NodeRow {
  // Pothos takes a name as well, though its types of this builder's own do not say so.
  brandWithType(row, typename as never)
  return row
}

const maxNodes = 500

/** An error as an entry of a list, which the executor reports at the entry's place. */
function asEntry(error: unknown): never {
  return error as never
}

builder.queryFields((t) => ({
  node: t.field({
    type: Node,
    nullable: true,
    scope: 'inherited',
    description: 'Anything of the tenant by its id; null when there is nothing with it. Needs the scope of its type.',
    args: { id: t.arg.id({ required: true, description: 'The id.' }) },
    resolve: (_, { id }, context) => loadNode(id, context),
  }),
  nodes: t.field({
    type: [Node],
    extensions: { items: { asManyAs: 'ids' } satisfies Items },
    nullable: { list: false, items: true },
    scope: 'inherited',
    description: `Like \`node\` for up to ${maxNodes} ids, in the order asked, with null for what is not there.`,
    args: { ids: t.arg.idList({ required: true, description: 'The ids.' }) },
    resolve: (_, { ids }, context) => {
      if (ids.length > maxNodes) throw invalidField('ids', 'OUT_OF_RANGE', `must have at most ${maxNodes} entries`)
      // An error stands for its own entry alone. Both executors take it as a value; of promises that are rejected
      // graphql-jit 0.8 makes one entry too many.
      return Promise.all(ids.map((id) => loadNode(id, context).catch(asEntry)))
    },
  }),
}))
