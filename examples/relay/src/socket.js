import { Observable } from 'relay-runtime'

/**
 * Creates the function for subscriptions of `Network.create`, which sends all of them over one socket.
 *
 * @param socket what `createSocket` returns
 */
export function createSocketSubscribe(socket) {
  return ({ id }, variables) =>
    // A socket names a document by its id next to an empty text.
    Observable.create((sink) => socket.subscribe({ query: '', documentId: id, variables }, sink))
}
