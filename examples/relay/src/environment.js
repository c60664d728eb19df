import { Environment, Network, Observable, RecordSource, Store } from 'relay-runtime'
import { patientFetch } from '../../frontends/patient-fetch.ts'
import { createSubscriptions } from '../../frontends/subscriptions.ts'

/**
 * Creates an environment that sends the ids of operations, and never their texts. It renews a token that is rejected or expires.
 *
 * @param tokens what `createTokens` returns
 * @param subscribe sends subscriptions: as event streams, or what `createSocketSubscribe` returns
 */
export function createEnvironment(url, tokens, subscribe = createEventSubscribe(url, tokens)) {
  const network = Network.create(
    async ({ id, operationKind }, variables, { metadata }) => {
      // `cacheConfig: { metadata: { action } }` is the idempotency key of what a person did.
      const key = metadata?.action ?? crypto.randomUUID()
      const post = (token) =>
        patientFetch(url, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${token}`,
            ...(operationKind === 'mutation' && { 'idempotency-key': key }),
          },
          body: JSON.stringify({ documentId: id, variables }),
        })
      let response = await post(await tokens.current())
      if (response.status === 401) response = await post(await tokens.renew())
      return response.json()
    },
    // `useSubscription` and `requestSubscription` use this.
    subscribe,
  )
  return new Environment({ network, store: new Store(new RecordSource()) })
}

function createEventSubscribe(url, tokens) {
  const subscribe = createSubscriptions(url, tokens)
  return ({ id }, variables) => Observable.create((sink) => subscribe({ documentId: id, variables }, sink))
}
