import { gql } from '@apollo/client/core'
import type { ClientOptions } from '@fusion-gateway/client'
import { createApolloClient, withheld } from '@fusion-gateway/client/apollo'
import { textOf } from '../documents.ts'
import { endCursorOf, type Library } from '../page.ts'

export { startPage } from '../page.ts'

export function connect(options: ClientOptions): Library {
  const client = createApolloClient(options)
  return {
    watch(document, variables, show) {
      const query = client.watchQuery({ query: gql(textOf(document)), variables })
      const subscription = query.subscribe(show)
      const shown = () => query.getCurrentResult().data
      return {
        change: (next) => void query.setVariables(next),
        more: () => query.fetchMore({ variables: { after: endCursorOf(shown()) } }),
        withheld: (path) => withheld(client, shown(), path),
        hide: () => subscription.unsubscribe(),
      }
    },
    mutate: (document, variables, action, expected) =>
      client.mutate({
        mutation: gql(textOf(document)),
        variables,
        context: { action },
        ...(expected && { optimisticResponse: expected }),
      }),
    follow: (document, variables, show) =>
      void client.subscribe({ query: gql(textOf(document)), variables }).subscribe(show),
  }
}
