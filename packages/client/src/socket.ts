import { type Client, createClient } from 'graphql-ws/client'
import { type FieldError, RequestError } from './errors.ts'
import type { Result } from './request.ts'
import type { Connection, Transport } from './transport.ts'
import { maxSilenceMilliseconds } from './waits.ts'

/** One WebSocket for all subscriptions. A browser sends no headers with it: the credential is in its first message. */
export function createSocket({ url, readToken, headersOf, stay }: Connection): Transport {
  const keepAlive = maxSilenceMilliseconds / 2
  let timer: ReturnType<typeof setTimeout> | undefined
  const open = () => {
    const client = createClient({
      url: new URL(url, globalThis.location?.href).href.replace(/^http/, 'ws'),
      connectionParams: async () => headersOf(await readToken()),
      keepAlive,
      retryAttempts: 0,
      on: {
        ping(isReceived) {
          if (!isReceived) timer = setTimeout(() => client.terminate(), keepAlive)
        },
        pong: (isReceived) => isReceived && clearTimeout(timer),
        closed: () => clearTimeout(timer),
      },
    })
    return client
  }
  let socket: Client | undefined
  let owner: AbortSignal | undefined
  return (request, sink) => {
    if (!socket || owner?.aborted) {
      const opened = open()
      socket = opened
      owner = stay()
      // It has the token of the person.
      owner.addEventListener('abort', () => opened.terminate(), { once: true })
    }
    // The protocol requires a text next to the id of a document.
    return socket.subscribe({ query: '', ...request } as { query: string }, {
      next: (result) => sink.next(result as Result),
      error: (error) => sink.error(Array.isArray(error) ? new RequestError(error as FieldError[]) : error),
      complete: () => sink.complete(),
    })
  }
}
