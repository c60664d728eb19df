import { ApolloLink, type HttpLink } from '@apollo/client/core'
import { GraphQLWsLink } from '@apollo/client/link/subscriptions'
import { subscriptionExchange } from '@urql/core'
import { type Client, CloseCode, createClient } from 'graphql-ws'
import type { Tokens } from './tokens.ts'

/**
 * Creates the socket of a page, which carries all its subscriptions. When the token expires, the gateway closes the socket, and the client
 * opens it again with a new token and continues its subscriptions.
 *
 * @param url `https://gateway.example.com/graphql`
 */
export function createSocket(url: string, tokens: Tokens): Client {
  let hasExpired = false
  return createClient({
    url: url.replace(/^http/, 'ws'),
    // A browser sends no headers when it opens a socket.
    connectionParams: async () => ({
      authorization: `Bearer ${await (hasExpired ? tokens.renew() : tokens.current())}`,
    }),
    on: {
      closed(event) {
        hasExpired = (event as CloseEvent).code === CloseCode.Forbidden
      },
    },
  })
}

/** The link of Apollo Client that sends subscriptions over the socket, and everything else over HTTP. */
export function createSocketLink(socket: Client, http: HttpLink): ApolloLink {
  const isSubscription = ({ operationType }: ApolloLink.Operation) => operationType === 'subscription'
  return ApolloLink.split(isSubscription, new GraphQLWsLink(socket), http)
}

/** The exchange of urql that sends subscriptions over the socket. */
export function createSocketExchange(socket: Client) {
  return subscriptionExchange({
    forwardSubscription: ({ query = '', variables = {} }) => ({
      subscribe: (sink) => ({
        unsubscribe: socket.subscribe({ query, variables }, sink as Parameters<Client['subscribe']>[1]),
      }),
    }),
  })
}
