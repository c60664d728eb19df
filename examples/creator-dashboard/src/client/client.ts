import { hasCode } from '@fusion-gateway/client'
import { cacheOptions, createUrqlClient } from '@fusion-gateway/client/urql'
import { createContext } from 'react'
import { type Client, mapExchange } from 'urql'
import type { Session } from './session.ts'

/** Whether requests wait for the gateway. */
export const Waiting = createContext(false)

/**
 * Creates the client of a session. Its cache ends with it.
 *
 * @param onWait called when requests wait for the gateway, and when none waits any more
 */
export function createClient({ token, onEnd }: Session, onWait: (isWaiting: boolean) => void): Client {
  return createUrqlClient({
    url: new URL('/graphql', location.href).href,
    token,
    clientName: 'creator-dashboard',
    // Sends the ids of operations, and never their texts.
    documents: 'persisted',
    // The backend passes on requests, and no WebSockets.
    transport: 'stream',
    // The pages of the table replace each other.
    cache: { ...cacheOptions, resolvers: {} },
    requestPolicy: 'cache-and-network',
    exchanges: [mapExchange({ onError: (error) => void (hasCode(error, 'UNAUTHENTICATED') && onEnd()) })],
    onWait: (until) => onWait(until !== undefined),
    onSignedOut: onEnd,
  })
}
