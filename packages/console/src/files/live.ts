// Subscriptions as server-sent events. EventSource cannot send a key.

import { useEffect, useRef, useState } from 'preact/hooks'
import { type GraphQLResponse, send } from './client.ts'
import type { Document } from './document.ts'
import { Failure } from './failure.ts'
import { recordOperation } from './operations.ts'
import { signOut } from './session.ts'

/** How long it waits before it connects again, in milliseconds. */
const minDelay = 250
const maxDelay = 30_000

/** `waiting`: for the next connection. `off`: nothing is followed, or the stream has ended. */
export type LiveState = 'live' | 'waiting' | 'off'

/** The variables after a result, from which the next connection continues. */
type Resume<Data, Variables> = (data: Data, variables: Variables) => Variables

interface Follower<Data, Variables> {
  readonly resume: Resume<Data, Variables> | undefined
  readonly onData: (data: Data) => void
  readonly onState: (state: LiveState) => void
}

/**
 * Follows a subscription, and connects again when the connection breaks. A hidden page follows nothing: a browser has
 * few connections.
 *
 * @returns a function that stops
 */
function follow<Data, Variables>(
  query: Document<Data, Variables>,
  variables: Variables,
  { resume, onData, onState }: Follower<Data, Variables>,
): () => void {
  let isStopped = false
  let connection = new AbortController()
  const onVisibility = () => document.hidden && connection.abort()
  document.addEventListener('visibilitychange', onVisibility)

  /** Reads results until the connection ends. */
  async function read({ signal }: AbortController): Promise<void> {
    const response = await send(query, variables, { accept: 'text/event-stream', signal })
    onState('live')
    let text = ''
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      const events = `${text}${part.value}`.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        const { data, errors }: GraphQLResponse<Data> = JSON.parse(/^data: ?(.+)/m.exec(event)?.[1] ?? '{}')
        if (errors)
          throw new Failure(errors[0]?.extensions?.code === 'UNAUTHENTICATED' ? 'unauthenticated' : 'failed', '')
        if (!data || isStopped) continue
        variables = resume?.(data, variables) ?? variables
        onData(data)
      }
    }
  }

  async function keepReading(): Promise<void> {
    recordOperation(query, variables)
    for (let delay = minDelay; !isStopped; ) {
      while (document.hidden)
        await new Promise((shown) => document.addEventListener('visibilitychange', shown, { once: true }))
      // The page may have been left while the tab was hidden.
      if (isStopped) return
      const began = performance.now()
      connection = new AbortController()
      const failure = await read(connection).then(() => undefined, connectionFailureOf)
      if (isStopped) return
      if (failure?.kind === 'unauthenticated') return signOut('Your key is no longer valid.')
      if (failure?.kind === 'forbidden' || failure?.kind === 'failed') return onState('off')
      onState('waiting')
      if (performance.now() - began > maxDelay) delay = minDelay
      const wait = Math.max((failure?.retryAfter ?? 0) * 1_000, delay * (1 + Math.random()))
      if (!document.hidden) await new Promise((resolve) => setTimeout(resolve, wait))
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

/**
 * Follows a subscription while the component is shown. Results that arrive together are passed on together, once per
 * frame.
 *
 * @param query nothing is followed without it
 */
export function useSubscription<Data, Variables>(
  query: Document<Data, Variables> | false | undefined,
  variables: NoInfer<Variables>,
  onResults: (results: readonly Data[]) => void,
  resume?: Resume<Data, Variables>,
): LiveState {
  const [state, setState] = useState<LiveState>('off')
  const handler = useRef(onResults)
  handler.current = onResults
  useEffect(() => {
    if (!query) return setState('off')
    let results: Data[] = []
    const flush = () => {
      handler.current(results)
      results = []
    }
    const onData = (data: Data) => {
      if (results.push(data) === 1) requestAnimationFrame(flush)
    }
    return follow(query, variables, { resume, onData, onState: setState })
  }, [query, JSON.stringify(variables)])
  return state
}
