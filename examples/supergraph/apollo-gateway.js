// Another router: Apollo Server with @apollo/gateway. It has no subscriptions.
import { readFileSync } from 'node:fs'
import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway'
import { ApolloServer } from '@apollo/server'
import { startStandaloneServer } from '@apollo/server/standalone'
import { GraphQLError } from 'graphql'
import { forwarded } from './forwarded.js'

class Subgraph extends RemoteGraphQLDataSource {
  willSendRequest({ request, context }) {
    for (const name of forwarded) {
      const value = context.headers?.[name]
      if (value) request.http.headers.set(name, value)
    }
  }

  /** Keeps the code of an error. Without this, a client that has spent its points gets the URL of the subgraph instead. */
  async errorFromResponse(response) {
    const { errors: [error] = [] } = await response.json().catch(() => ({}))
    return new GraphQLError(error?.message ?? response.statusText, { extensions: error?.extensions })
  }
}

const gateway = new ApolloGateway({
  supergraphSdl: readFileSync(process.env['SUPERGRAPH'] ?? 'supergraph.graphql', 'utf8'),
  buildService: ({ url }) => new Subgraph({ url }),
})
const { url } = await startStandaloneServer(new ApolloServer({ gateway }), {
  listen: { host: '127.0.0.1', port: Number(process.env['ROUTER_PORT'] ?? '4400') },
  context: async ({ req }) => ({ headers: req.headers }),
})
process.stdout.write(`Listening on ${url}\n`)
