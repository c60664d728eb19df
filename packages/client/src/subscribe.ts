import { errorsOf, RequestError, TokenError } from './errors.ts'
import { continueAfter, type GraphQLRequest, positionOf, type Result } from './request.ts'
import type { Connection, Sink, Transport } from './transport.ts'
import type { WaitReason } from './waits.ts'

/**
 * Subscribes. Returns a function that ends the subscription.
 *
 * @param start returns the position after which events begin. For another person they begin at present. `live`: it is a live query, which
 *   begins with what is read then
 */
export type Subscribe = (request: GraphQLRequest, sink: Sink, start?: Start | 'live') => () => void
export type Start = () => Promise<string | undefined>

/** The attempts of a connection that has lasted for this long are forgotten. */
const stableMilliseconds = 5_000

/** Returns the function that loads what sends subscriptions. Most pages have none. */
function createLoader(connection: Connection, isStream: boolean): () => Promise<Transport> {
  let loaded: Promise<Transport> | undefined
  return async () => {
    loaded ??= isStream
      ? import('./streams.ts').then(({ createStreams }) => createStreams(connection))
      : import('./socket.ts').then(({ createSocket }) => createSocket(connection))
    try {
      return await loaded
    } catch (error) {
      // Without a network it is not there, and is asked for again.
      loaded = undefined
      throw new TypeError(String(error), { cause: error })
    }
  }
}

/** Creates the subscriptions of a client. */
export function createSubscribe(connection: Connection): Subscribe {
  const { waits, readToken } = connection
  // Node 20 has no WebSocket.
  const isStream = connection.transport === 'stream' || typeof WebSocket === 'undefined'
  const load = createLoader(connection, isStream)

  return (request, sink, start) => {
    const stopped = new AbortController()
    const signal = AbortSignal.any([stopped.signal, connection.signal])
    const isLive = start === 'live'
    // Asks for the position before there is an event.
    const asked = isLive ? request : { ...request, extensions: { ...request.extensions, position: true } }
    let current: GraphQLRequest | undefined
    /** Ends with the person for whom `current` is. */
    let stay: AbortSignal | undefined
    let attempt = 0
    let waiter = { isWoken: false }
    let connectedAt = 0
    let token: string | undefined
    let isRenewed = false
    /** Whether a hidden tab waits until it is shown. It reads a live query once. */
    let canPause = isStream && !isLive
    const isPaused = () => canPause && globalThis.document?.hidden

    /** Passes on a result, and remembers where the next connection continues. */
    function receive(result: Result): void {
      // A gateway that ends each stream after its first result is not asked at once for ever.
      if (performance.now() - connectedAt > stableMilliseconds) {
        attempt = 0
        waiter = { isWoken: false }
      }
      isRenewed = false
      waits.wake(performance.now())
      canPause ||= isLive
      if (!isLive) current = continueAfter(current ?? asked, positionOf(result))
      if (result.data || result.errors) sink.next(result)
    }

    /**
     * Subscribes once.
     *
     * @returns whether the subscription is over. It is not when the tab was hidden, or the person has left
     * @throws what broke the connection, or ended the subscription
     */
    async function connect(): Promise<boolean> {
      while (isPaused() && !signal.aborted) await untilChanged(signal)
      const transport = await load()
      token = await readToken()
      const person = connection.stay()
      if (stay !== person) current = stay || !start || isLive ? asked : continueAfter(asked, await start())
      stay = person
      const request = current ?? asked
      if (signal.aborted) return true
      if (person.aborted) return false
      connectedAt = performance.now()
      let leave = () => {}
      const left = new AbortController()
      const over = new Promise<boolean>((resolve, reject) => {
        const onEvent = { signal: left.signal }
        signal.addEventListener('abort', () => resolve(true), onEvent)
        person.addEventListener('abort', () => resolve(false), onEvent)
        const hide = () => isPaused() && resolve(false)
        globalThis.document?.addEventListener('visibilitychange', hide, onEvent)
        const show = (result: Result) => {
          if (left.signal.aborted) return
          receive(result)
          hide()
        }
        const held = isLive ? connection.writes.hold(connectedAt, show) : undefined
        leave = transport(request, {
          next(result) {
            if (signal.aborted || person.aborted) return
            if (!result.data && outcomeOf(result)) reject(new RequestError(result.errors ?? []))
            else if (held) held.next(result)
            else receive(result)
          },
          error: reject,
          complete() {
            held?.flush()
            resolve(true)
          },
        })
      })
      return over.finally(() => {
        left.abort()
        leave()
      })
    }

    /**
     * Renews the token, or waits for the next attempt.
     *
     * @throws errors that stay
     */
    async function recover(error: unknown): Promise<undefined> {
      const outcome = outcomeOf(error)
      if (!outcome || (outcome === 'rejected' && isRenewed)) throw error
      if (outcome === 'rejected') {
        isRenewed = true
        if ((await readToken(token).catch(recover)) === token) throw error
      } else {
        attempt += 1
        await waits.wait(attempt, outcome, undefined, signal, waiter)
        isRenewed = false
      }
    }

    async function run(): Promise<void> {
      for (let isOver: boolean | undefined; !isOver; ) isOver = await connect().catch(recover)
    }
    run().then(
      () => !signal.aborted && sink.complete(),
      (error: unknown) => !signal.aborted && sink.error(toError(error)),
    )
    return () => stopped.abort()
  }
}

/** A hidden tab would take one of the six connections that a browser has for a host, and follow what nobody sees. */
const untilChanged = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => {
    signal.addEventListener('abort', resolve, { once: true })
    document.addEventListener('visibilitychange', resolve, { once: true })
  })

const outcomes = new Map<unknown, WaitReason | 'rejected'>([
  ['UNAUTHENTICATED', 'rejected'],
  ['RATE_LIMITED', 'limited'],
  ['REQUEST_TIMEOUT', 'unavailable'],
  ['SERVICE_UNAVAILABLE', 'unavailable'],
  [4401, 'rejected'],
  [4403, 'rejected'],
  [4408, 'unavailable'],
])

/** Whether another token, or another attempt, may succeed after an error or a result. Undefined: neither. */
function outcomeOf(error: unknown): WaitReason | 'rejected' | undefined {
  const errors = errorsOf(error)
  if (errors.length > 0) return errors.map(({ extensions }) => outcomes.get(extensions?.code)).find(Boolean)
  if (error instanceof TokenError) return error.isTemporary ? 'unavailable' : undefined
  const { code } = (error ?? {}) as { readonly code?: unknown }
  // 1009, 4004, 4005 and 44xx say that the client has made a mistake.
  const isMistake = (number: number) => [1009, 4004, 4005].includes(number) || (number >= 4400 && number < 4499)
  if (typeof code === 'number') return outcomes.get(code) ?? (isMistake(code) ? undefined : 'unavailable')
  return error instanceof TypeError || (typeof Event !== 'undefined' && error instanceof Event) ? 'offline' : undefined
}

function toError(error: unknown): Error {
  if (error instanceof Error) return error
  const { code, reason } = (error ?? {}) as { readonly code?: number; readonly reason?: string }
  const message = `The gateway closed the WebSocket with ${code}: ${reason}`
  if (outcomeOf(error) !== 'rejected') return new Error(message)
  return new RequestError([{ message, extensions: { code: 'UNAUTHENTICATED' } }])
}
