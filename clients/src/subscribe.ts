import { createClient as createStreamClient } from 'graphql-sse'
import { type Client, createClient as createSocketClient } from 'graphql-ws/client'
import { type FieldError, hasCode, RequestError, TokenError } from './errors.ts'
import type { GraphQLRequest, Result } from './request.ts'
import type { WaitReason, Waits } from './waits.ts'

/** Subscribes. Returns a function that ends the subscription. */
export type Subscribe = (request: GraphQLRequest, sink: Sink) => () => void

export interface Sink {
  next(result: Result): void
  error(error: Error): void
  complete(): void
}

/** What the core has for subscriptions. */
interface Connection {
  readonly url: string
  readonly transport: 'socket' | 'stream'
  readonly fetch: typeof globalThis.fetch
  readonly waits: Waits
  /** The headers of a request, with the token. */
  readHeaders(): Promise<Record<string, string>>
  /** Replaces the token that was sent last. Returns false if there is no other. */
  renewToken(): Promise<boolean>
  /** Ends all subscriptions. */
  readonly signal: AbortSignal
}

/** Sends a subscription once, without continuing. */
type Transport = (
  request: GraphQLRequest,
  sink: { next(result: Result): void; error(error: unknown): void; complete(): void },
) => () => void

/** The gateway sends something every 12 seconds: a connection that is silent for longer is dead, as after the sleep of a device. */
const maxSilenceMilliseconds = 30_000

/** The codes of a result that ends a subscription, which continues later. */
const temporary: Readonly<Record<string, WaitReason>> = {
  RATE_LIMITED: 'limited',
  REQUEST_TIMEOUT: 'unavailable',
  SERVICE_UNAVAILABLE: 'unavailable',
}

/** Creates the subscriptions of a client. */
export function createSubscribe(connection: Connection): Subscribe {
  const { waits, renewToken } = connection
  const isStream = connection.transport === 'stream'
  const transport = isStream ? createStreams(connection) : createSocket(connection)

  return (request, sink) => {
    const stopped = new AbortController()
    const signal = AbortSignal.any([stopped.signal, connection.signal])
    // Asks for the position before there is an event.
    const asked = { ...request, extensions: { ...request.extensions, position: true } }
    let current: GraphQLRequest = asked
    let attempt = 0
    let isRenewed = false

    /** Passes on a result, and remembers where the next connection continues. */
    function receive(result: Result): void {
      attempt = 0
      isRenewed = false
      waits.wake()
      const after = positionOf(result)
      if (after !== undefined && hasAfter(request)) current = { ...asked, variables: { ...request.variables, after } }
      if (result.data || result.errors) sink.next(result)
    }

    /**
     * Subscribes once.
     *
     * @returns whether the subscription is over. It is not when the tab was hidden
     * @throws what broke the connection, or ended the subscription
     */
    function connect(): Promise<boolean> {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return resolve(true)
        let ended: RequestError | undefined
        const leave = transport(current, {
          next(result) {
            if (!result.data && isTemporary(result.errors)) ended = new RequestError(result.errors ?? [])
            else receive(result)
          },
          error: (error) => finish(() => reject(error)),
          complete: () => finish(() => (ended ? reject(ended) : resolve(true))),
        })
        const hide = () => isStream && document.hidden && finish(() => resolve(false))
        const abort = () => finish(() => resolve(true))
        function finish(settle: () => void): void {
          signal.removeEventListener('abort', abort)
          globalThis.document?.removeEventListener('visibilitychange', hide)
          settle()
          leave()
        }
        signal.addEventListener('abort', abort)
        globalThis.document?.addEventListener('visibilitychange', hide)
      })
    }

    async function run(): Promise<void> {
      for (let isOver = false; !isOver; ) {
        try {
          if (isStream) await shown(signal)
          isOver = await connect()
        } catch (error) {
          await recover(error)
        }
      }
    }

    /**
     * Renews the token, or waits for the next attempt.
     *
     * @throws errors that stay
     */
    async function recover(error: unknown): Promise<void> {
      if (isRejection(error) && !isRenewed) {
        isRenewed = true
        const isOther = await renewToken().catch(recover)
        if (isOther === false) throw error
        return
      }
      const reason = reasonOf(error)
      if (!reason) throw error
      attempt += 1
      await waits.wait(attempt, reason, undefined, signal)
      isRenewed = false
    }

    run().then(
      () => !signal.aborted && sink.complete(),
      (error: unknown) => !signal.aborted && sink.error(toError(error)),
    )
    return () => stopped.abort()
  }
}

/** One WebSocket for all subscriptions. A browser sends no headers with it, so the credential is in its first message. */
function createSocket({ url, readHeaders }: Connection): Transport {
  let socket: Client | undefined
  return (request, sink) => {
    // Servers that render pages may have no WebSocket.
    socket ??= openSocket(new URL(url, globalThis.location?.href).href.replace(/^http/, 'ws'), readHeaders)
    // The protocol requires a text next to the id of a document.
    return socket.subscribe({ query: '', ...request } as { query: string }, {
      next: (result) => sink.next(result as Result),
      error: (error) => sink.error(Array.isArray(error) ? new RequestError(error as FieldError[]) : error),
      complete: () => sink.complete(),
    })
  }
}

function openSocket(url: string, readHeaders: Connection['readHeaders']): Client {
  let timer: ReturnType<typeof setTimeout> | undefined
  const socket = createSocketClient({
    url,
    connectionParams: readHeaders,
    retryAttempts: 0,
    keepAlive: maxSilenceMilliseconds / 2,
    on: {
      ping(isReceived) {
        if (!isReceived) timer = setTimeout(() => socket.terminate(), maxSilenceMilliseconds / 2)
      },
      pong(isReceived) {
        if (isReceived) clearTimeout(timer)
      },
      closed: () => clearTimeout(timer),
    },
  })
  return socket
}

/** A connection for each subscription. */
function createStreams({ url, fetch }: Connection): Transport {
  return (request, sink) => {
    let failure: unknown
    const client = createStreamClient({
      url,
      retryAttempts: 0,
      async fetchFn(input: string, init: RequestInit) {
        try {
          const response = await fetch(input, init)
          if (response.ok) return endSilence(response, init.signal)
          const { errors = [] } = (await response.json()) as { errors?: FieldError[] }
          throw new RequestError(errors)
        } catch (error) {
          failure = error
          throw error
        }
      },
    })
    return client.subscribe(request as { query: string }, {
      next: (result) => sink.next(result as Result),
      // Without a failure of the request, the stream broke off.
      error: (error) => sink.error(failure ?? new TypeError(String(error))),
      complete: () => sink.complete(),
    })
  }
}

/** Ends a stream in which nothing comes. */
function endSilence(response: Response, signal?: AbortSignal | null): Response {
  let timer: ReturnType<typeof setTimeout> | undefined
  signal?.addEventListener('abort', () => clearTimeout(timer))
  const watch = (controller: TransformStreamDefaultController) => {
    clearTimeout(timer)
    timer = setTimeout(() => controller.error(new TypeError('The stream is silent.')), maxSilenceMilliseconds)
  }
  const body = response.body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      start: watch,
      transform(chunk, controller) {
        watch(controller)
        controller.enqueue(chunk)
      },
      flush: () => clearTimeout(timer),
    }),
  )
  return new Response(body ?? null, response)
}

/** Waits until the tab is shown. A hidden tab would take one of the six connections that a browser has for a host. */
async function shown(signal: AbortSignal): Promise<void> {
  while (globalThis.document?.hidden && !signal.aborted) {
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
      document.addEventListener('visibilitychange', () => resolve(), { once: true })
    })
  }
}

/** The position after a result: an event names its own in its id. */
export function positionOf({ data, extensions }: Result): string | undefined {
  const ids = Object.values(data ?? {}).map((value) => (value as { id?: unknown } | null)?.id)
  const id = ids.find((each) => typeof each === 'string' && each.startsWith('evt_'))
  return (id as string | undefined) ?? extensions?.position
}

/** A gateway ignores variables that a document does not have, so a document without a text gets the position too. */
export const hasAfter = ({ query }: GraphQLRequest) => !query || /\$after\b/.test(query)

const isTemporary = (errors: readonly FieldError[] = []) =>
  errors.some(
    ({ extensions }) => extensions?.code === 'UNAUTHENTICATED' || Object.hasOwn(temporary, extensions?.code ?? ''),
  )

const closeCode = (error: unknown) => (error as { readonly code?: unknown } | null)?.code

/** Whether another token may be accepted. */
const isRejection = (error: unknown) =>
  [4401, 4403].includes(Number(closeCode(error))) || hasCode(error, 'UNAUTHENTICATED')

/** Why a subscription must wait. Undefined: the next attempt would fail too. */
function reasonOf(error: unknown): WaitReason | undefined {
  if (error instanceof RequestError)
    return error.errors.flatMap(({ extensions }) => temporary[extensions?.code ?? ''] ?? [])[0]
  if (error instanceof TokenError) return error.isTemporary ? 'unavailable' : undefined
  const code = closeCode(error)
  // 1009, 44xx, 4004 and 4005 say that the client does something wrong.
  if (typeof code === 'number')
    return [1009, 4004, 4005].includes(code) || (code >= 4400 && code < 4499 && code !== 4408)
      ? undefined
      : 'unavailable'
  return error instanceof TypeError || (typeof Event !== 'undefined' && error instanceof Event) ? 'offline' : undefined
}

function toError(error: unknown): Error {
  if (error instanceof Error) return error
  const { code, reason } = (error ?? {}) as { readonly code?: number; readonly reason?: string }
  const isUnauthenticated = isRejection(error)
  const message = `The gateway closed the WebSocket with ${code}: ${reason}`
  return isUnauthenticated
    ? new RequestError([{ message, extensions: { code: 'UNAUTHENTICATED' } }])
    : new Error(message)
}
