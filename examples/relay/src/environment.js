import { createClient } from 'graphql-sse'
import { Environment, Network, Observable, RecordSource, Store } from 'relay-runtime'

/**
 * Creates an environment that sends the ids of operations, and never their texts.
 *
 * @param credentials returns the header of a request: `async () => ({ authorization: … })`
 * @param subscribe sends subscriptions: as event streams, or what `createSocketSubscribe` returns
 */
export function createEnvironment(url, credentials, subscribe = createEventSubscribe(url, credentials)) {
  const network = Network.create(
    async ({ id }, variables) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...(await credentials()), 'content-type': 'application/json' },
        body: JSON.stringify({ documentId: id, variables }),
      })
      return response.json()
    },
    // `useSubscription` and `requestSubscription` use this.
    subscribe,
  )
  return new Environment({ network, store: new Store(new RecordSource()) })
}

function createEventSubscribe(url, credentials) {
  const events = createClient({ url, headers: credentials })
  return ({ id }, variables) => Observable.create((sink) => events.subscribe({ documentId: id, variables }, sink))
}
