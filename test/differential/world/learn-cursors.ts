import { type GraphQLSchema, getNamedType, isEnumType, isInputObjectType } from 'graphql'
import type { TestApp, TestTenant } from '../../support/app.ts'
import { listNameOf } from '../reference/cursors.ts'
import type { Order } from '../reference/lists.ts'
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
const lists: Readonly<Record<string, Typename>> = {
  users: 'User',
  accounts: 'Account',
  searchProfiles: 'Profile',
  jobs: 'Job',
  apiKeys: 'ApiKey',
  events: 'Event',
}

/** By how many fields a list is ordered. `npm test` has pairs: the cursors of all orders are a thousand requests. */
const maxFields = process.env['TEST_ALL'] || process.env['DIFFERENTIAL_OPERATIONS'] ? Number.POSITIVE_INFINITY : 2

/**
 * The orders that a list can have: of one field, and of several. A list without the argument `orderBy` has one order
 * without fields.
 */
export function ordersOf(schema: GraphQLSchema, list: string): Order[][] {
  const args = schema.getQueryType()?.getFields()[list]?.args ?? []
  const type = getNamedType(args.find(({ name }) => name === 'orderBy')?.type)
  if (!isInputObjectType(type)) return [[]]
  const fields = getNamedType(type.getFields()['field']?.type)
  if (!isEnumType(fields)) throw new Error(`${list} is ordered by no enum`)
  const all = fields
    .getValues()
    .flatMap(({ name: field }) => ['ASC', 'DESC'].map((direction) => ({ field, direction })))
  /** The order, and each that begins with it. */
  const continued = (order: Order[]): Order[][] => [
    order,
    ...(order.length === maxFields ? [] : all)
      .filter(({ field }) => order.every((one) => one.field !== field))
      .flatMap((next) => continued([...order, next])),
  ]
  return all.flatMap((order) => continued([order]))
}

/** The arguments for an order. */
function orderArguments([orderBy, ...thenBy]: readonly Order[]): string {
  const textOf = ({ field, direction }: Order) => `{ field: ${field}, direction: ${direction} }`
  if (!orderBy) return ''
  return `, orderBy: ${textOf(orderBy)}${thenBy.length > 0 ? `, thenBy: [${thenBy.map(textOf).join(', ')}]` : ''}`
}

/** Reads each list of a tenant whole, in each order, and notes the cursors. Waits until the last event can be read. */
export async function learnCursors(
  { graphql }: TestApp,
  schema: GraphQLSchema,
  { view, credentials }: Holder,
): Promise<void> {
  for (const [list, typename] of Object.entries(lists)) {
    for (const order of ordersOf(schema, list)) {
      const query = `{ ${list}(first: 500${orderArguments(order)}) { edges { cursor node { id } } } }`
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
