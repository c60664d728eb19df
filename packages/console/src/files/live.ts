// Live queries as server-sent events. EventSource cannot send a key.

import { type GraphQLResponse, rejectionOf, send } from './client.ts'
import type { Document } from './document.ts'
import { Failure } from './failure.ts'
import { recordOperation } from './operations.ts'
import { signOut } from './session.ts'

/** How long it waits before it connects again, in milliseconds. */
const minDelay = 250
const maxDelay = 30_000

/** `waiting`: for the next connection. `off`: nothing is followed. */
export type LiveState = 'live' | 'waiting' | 'off'

interface Follower<Data> {
  readonly onData: (data: Data) => void
  /** Called when there are no more results. */
  readonly onFailure: (failure: Failure) => void
  readonly onState: (state: LiveState) => void
}

/**
 * Follows a live query, and connects again when the connection breaks after the first result. A hidden page follows
 * nothing: a browser has few connections.
 *
 * @returns a function that stops
 */
export function follow<Data, Variables>(
  query: Document<Data, Variables>,
  variables: NoInfer<Variables>,
  { onData, onFailure, onState }: Follower<Data>,
): () => void {
  let isStopped = false
  let hasData = false
  let connection = new AbortController()
  const onVisibility = () => document.hidden && connection.abort()
  document.addEventListener('visibilitychange', onVisibility)
  const record = recordOperation(query, variables)

  /** Reads results until the connection ends. */
  async function read({ signal }: AbortController): Promise<void> {
    const response = await send(query, variables, { accept: 'text/event-stream', signal })
    let text = ''
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      const events = `${text}${part.value}`.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        const { data, errors, extensions }: GraphQLResponse<Data> = JSON.parse(/^data: ?(.+)/m.exec(event)?.[1] ?? '{}')
        if (errors) throw rejectionOf(response, errors)
        if (!data || isStopped) continue
        hasData = true
        record(extensions?.live?.revision)
        onState('live')
        onData(data)
      }
    }
  }

  async function keepReading(): Promise<void> {
    for (let delay = minDelay; !isStopped; ) {
      while (document.hidden)
        await new Promise((shown) => document.addEventListener('visibilitychange', shown, { once: true }))
      // The page may have been left while the tab was hidden.
      if (isStopped) return
      const began = performance.now()
      connection = new AbortController()
      const failure = await read(connection).then(() => undefined, connectionFailureOf)
      if (isStopped) return
      // The page was hidden.
      if (connection.signal.aborted) continue
      if (failure?.kind === 'unauthenticated') return signOut('Your key is no longer valid.')
      const isFinal = failure?.kind === 'forbidden' || failure?.kind === 'failed'
      if (failure && (isFinal || !hasData)) {
        record()
        onState('off')
        return onFailure(failure)
      }
      onState('waiting')
      if (performance.now() - began > maxDelay) delay = minDelay
      const wait = Math.max((failure?.retryAfter ?? 0) * 1_000, delay * (1 + Math.random()))
      await new Promise((resolve) => setTimeout(resolve, wait))
      delay = Math.min(delay * 2, maxDelay)
    }
  }

  keepReading()
  return () => {
    isStopped = true
    connection.abort()
    document.removeEventListener('visibilitychange', onVisibility)
  }
}

/** An error of the stream itself, such as a broken connection, has nothing to do with the operation. */
const connectionFailureOf = (error: unknown) => (error instanceof Failure ? error : new Failure('unreachable', ''))
