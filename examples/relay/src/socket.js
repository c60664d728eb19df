import { createClient } from 'graphql-ws'
import { Observable } from 'relay-runtime'

/**
 * Creates the function for subscriptions of `Network.create`, which sends all of them over one socket.
 *
 * @param credentials returns the header of a request: `async () => ({ authorization: … })`
 */
export function createSocketSubscribe(url, credentials) {
  const socket = createClient({ url: url.replace(/^http/, 'ws'), connectionParams: credentials })
  return ({ id }, variables) =>
    // A socket names a document by its id next to an empty text.
    Observable.create((sink) => socket.subscribe({ query: '', documentId: id, variables }, sink))
}
