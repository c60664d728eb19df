// Subscriptions as server-sent events. EventSource cannot send a key.

import { useEffect, useRef, useState } from 'preact/hooks'
import { Failure, send } from './client.js'
import { recordOperation } from './operations.js'
import { signOut } from './session.js'

/** How long it waits before it connects again, in milliseconds. */
const minDelay = 250
const maxDelay = 30_000

/**
 * Follows a subscription, and connects again when the connection breaks. A hidden page follows nothing: a browser has few connections.
 *
 * @param resume the variables after a result, from which the next connection continues
 * @param onState receives `live`, `waiting` (for the next connection), or `off` when the stream has ended
 * @returns a function that stops
 */
function follow(query, variables, { resume, onData, onState }) {
  let isStopped = false
  let connection = new AbortController()
  const onVisibility = () => document.hidden && connection.abort()
  document.addEventListener('visibilitychange', onVisibility)

  /** Reads results until the connection ends. */
  async function read({ signal }) {
    const response = await send(query, variables, { accept: 'text/event-stream', signal })
    onState('live')
    let text = ''
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const events = `${text}${part.value}`.split('\n\n')
      text = events.pop()
      for (const event of events) {
        const { data, errors } = JSON.parse(/^data: ?(.+)/m.exec(event)?.[1] ?? '{}')
        if (errors)
          throw new Failure(errors[0].extensions?.code === 'UNAUTHENTICATED' ? 'unauthenticated' : 'failed', '')
        if (!data || isStopped) continue
        variables = resume?.(data, variables) ?? variables
        onData(data)
      }
    }
  }

  async function keepReading() {
    recordOperation(query, variables)
    for (let delay = minDelay; !isStopped; ) {
      while (document.hidden)
        await new Promise((shown) => document.addEventListener('visibilitychange', shown, { once: true }))
      const began = performance.now()
      connection = new AbortController()
      const failure = await read(connection).catch((error) => error)
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

/**
 * Follows a subscription while the component is shown. Results that arrive together are passed on together, once per frame.
 *
 * @param query nothing is followed without it
 * @returns `live`, `waiting` or `off`
 */
export function useSubscription(query, variables, onResults, resume) {
  const [state, setState] = useState('off')
  const handler = useRef(onResults)
  handler.current = onResults
  useEffect(() => {
    if (!query) return setState('off')
    let results = []
    const flush = () => {
      handler.current(results)
      results = []
    }
    const onData = (data) => {
      if (results.push(data) === 1) requestAnimationFrame(flush)
    }
    return follow(query, variables, { resume, onData, onState: setState })
  }, [query, JSON.stringify(variables)])
  return state
}

/** Continues `events` after the last event. */
export const afterEvent = ({ events }, variables) => ({ ...variables, after: events.id })
