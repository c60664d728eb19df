// The subgraph of another team. It knows users by their id, and accounts by their platform.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse } from 'graphql'
import { createYoga } from 'graphql-yoga'

export const typeDefs = readFileSync(new URL('orders.graphql', import.meta.url), 'utf8')

/**
 * Starts the subgraph.
 *
 * @param orders its rows: `{ id, total, buyerId, account: { platform, platformAccountId } | null }`
 */
export async function startOrders(orders, port) {
  const resolvers = {
    Query: { orders: (_, { first }) => orders.slice(0, first) },
    Order: {
      __resolveReference: ({ id }) => orders.find((order) => order.id === id) ?? null,
      buyer: ({ buyerId }) => ({ id: buyerId }),
    },
    User: { orders: ({ id }) => orders.filter(({ buyerId }) => buyerId === id) },
  }
  const schema = buildSubgraphSchema([{ typeDefs: parse(typeDefs), resolvers }])
  const server = createServer(createYoga({ schema, logging: false }))
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))
}
