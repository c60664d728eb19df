import { type GraphQLSchema, getNamedType, isEnumType, isInputObjectType } from 'graphql'
import type { TestApp, TestTenant } from '../../support/app.ts'
import { listNameOf } from '../reference/cursors.ts'
import type { Row, Typename } from '../reference/tables.ts'
import type { View } from '../reference/view.ts'

interface Edges {
  readonly [list: string]: { readonly edges: readonly { readonly cursor: string; readonly node: { id: string } }[] }
}

/** A holder of all scopes of a tenant, and the rows. */
interface Holder {
  readonly credentials: TestTenant
  readonly view: View
}

/** The lists whose cursors are passed as arguments, and the types of their rows. */
export const lists: Readonly<Record<string, Typename>> = {
  users: 'User',
  accounts: 'Account',
  searchProfiles: 'Profile',
  jobs: 'Job',
  apiKeys: 'ApiKey',
  events: 'Event',
}

/** The orders that a list can have; empty if it has no argument `orderBy`. */
export function ordersOf(schema: GraphQLSchema, list: string): { field: string; direction: string }[] {
  const argument = schema
    .getQueryType()
    ?.getFields()
    [list]?.args.find(({ name }) => name === 'orderBy')
  const type = argument && getNamedType(argument.type)
  if (!isInputObjectType(type)) return []
  const fields = getNamedType(type.getFields()['field']?.type)
  if (!isEnumType(fields)) throw new Error(`${list} is ordered by no enum`)
  return fields.getValues().flatMap(({ name: field }) => ['ASC', 'DESC'].map((direction) => ({ field, direction })))
}

/** Reads each list of a tenant whole, in each order, and notes the cursors. Waits until the last event can be read. */
export async function learnCursors(
  { graphql }: TestApp,
  schema: GraphQLSchema,
  { view, credentials }: Holder,
): Promise<void> {
  for (const [list, typename] of Object.entries(lists)) {
    const orders = ordersOf(schema, list)
    for (const order of orders.length > 0 ? orders : [undefined]) {
      const orderBy = order ? `, orderBy: { field: ${order.field}, direction: ${order.direction} }` : ''
      const query = `{ ${list}(first: 500${orderBy}) { edges { cursor node { id } } } }`
      const rows = view.byId[typename]
      let edges: { cursor: string; row: Row }[] = []
      do {
        const { data } = await graphql<Edges>(credentials, query)
        edges = (data[list]?.edges ?? []).map(({ cursor, node }) => ({ cursor, row: rows.get(node.id) as Row }))
      } while (list === 'events' && edges.length < rows.size)
      if (edges.length !== rows.size) throw new Error(`${list} has ${edges.length} rows instead of ${rows.size}`)
      view.cursors.learn(view.tenantAppId, listNameOf(list, order), edges)
    }
  }
}
