import { mutationHeaders } from './action.ts'
import { type ClientOptions, type Core, createCore } from './core.ts'
import { createWithheld, type FieldError, RequestError, type Withheld } from './errors.ts'
import { continueAfter, type Document, isMutation, positionOf, type Result, requestOf } from './request.ts'
import type { Sink } from './transport.ts'

export interface Sent<Data> {
  readonly data: Data
  /** Fields that the token may not read. They are null. */
  readonly errors: readonly FieldError[]
  /** Tells a field that was withheld from an unknown value: `withheld('users.nodes.email')`. */
  readonly withheld: Withheld
  /** A position in the log of events, for the variable `$after` of `follow`: that of a query with `position: true`, or of an event. */
  readonly position: string | undefined
}

export interface SendOptions {
  readonly signal?: AbortSignal
  /** The idempotency key of what a person did, from `createAction`. A mutation has one of its own by default. */
  readonly action?: string
  /** Asks for the `position` before which a query reads its data. There is none without the scope `events:read`. */
  readonly position?: boolean
}

/**
 * Sends an operation.
 *
 * @throws RequestError if a field failed for another reason than a missing scope: it is not known, and not empty
 */
export interface Send {
  <Data = Record<string, unknown>, Variables extends object = object>(
    document: Document<Data, Variables>,
    variables?: Variables,
    options?: SendOptions,
  ): Promise<Sent<Data>>
  readonly options: FetchOptions
  /** The connection, which `follow` shares. */
  readonly core: Core
  close(): void
}

export interface FetchOptions extends ClientOptions {
  /** Writes documents that were parsed, such as those of gql.tada: `print` of the package graphql. */
  readonly print?: (document: never) => string
}

/** Creates the function that sends operations without a GraphQL client, for TanStack Query, Vue and servers. */
export function createSend(options: FetchOptions): Send {
  const core = createCore(options)
  async function send<Data>(
    document: string | object,
    variables: object = {},
    { signal, action, position }: SendOptions = {},
  ) {
    const request = requestOf(document, variables, options.documents, options.print)
    const response = await core.fetch(options.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...((action !== undefined || isMutation(document)) && mutationHeaders(action)),
      },
      body: JSON.stringify(position ? { ...request, extensions: { position } } : request),
      signal: signal ?? null,
    })
    return toSent<Data>((await response.json()) as Result)
  }
  return Object.assign(send as Send, { options, core, close: () => core.close() })
}

/** So many results wait for a loop. */
const maxQueued = 1_000

/**
 * Follows a subscription: `for await (const { data } of follow(send, document))`. It continues when the connection or the token ends, and
 * `events` after the last one, so they need the variable `$after: ID`. Begin after the `position` of a query, and no change is missed.
 *
 * @param from what `createSend` returned, to share its connection
 * @throws RequestError if the gateway rejects the subscription; TokenError if the person has signed out
 */
export const follow = <Data = Record<string, unknown>, Variables extends object = object>(
  from: Send | FetchOptions,
  document: Document<Data, Variables>,
  variables?: Variables,
  { signal }: Pick<SendOptions, 'signal'> = {},
): AsyncGenerator<Sent<Data>, void> => resultsOf<Data>(from, document, variables, signal, false)

/**
 * Follows a query with `@live`: `for await (const { data } of live(send, document))`. It has the result of the query, and again whenever it
 * changes. A loop that is slower than its results gets the last one. When the connection or the token ends, the query is read anew.
 *
 * @param from what `createSend` returned, to share its connection. Results wait for its mutations
 * @throws RequestError if the gateway rejects the query, or a field failed; TokenError if the person has signed out
 */
export const live = <Data = Record<string, unknown>, Variables extends object = object>(
  from: Send | FetchOptions,
  document: Document<Data, Variables>,
  variables?: Variables,
  { signal }: Pick<SendOptions, 'signal'> = {},
): AsyncGenerator<Sent<Data>, void> => resultsOf<Data>(from, document, variables, signal, true)

async function* resultsOf<Data>(
  from: Send | FetchOptions,
  document: string | object,
  variables: object = {},
  signal: AbortSignal | undefined,
  isLive: boolean,
): AsyncGenerator<Sent<Data>, void> {
  const mostQueued = isLive ? 1 : maxQueued
  const shared = 'core' in from
  const { documents, print } = shared ? from.options : from
  const core = shared ? from.core : createCore(from)
  let request = requestOf(document, variables, documents, print)
  let stop: (() => void) | undefined
  const subscribe = (controller: ReadableStreamDefaultController<() => Sent<Data>>) => {
    const sink: Sink = {
      next(result) {
        controller.enqueue(() => toSent<Data>(result))
        if (!isLive) request = continueAfter(request, positionOf(result))
        if ((controller.desiredSize ?? 0) > 0) return
        stop?.()
        stop = undefined
      },
      error(error) {
        // `controller.error` would drop the results before it.
        controller.enqueue(() => {
          throw error
        })
        controller.close()
      },
      complete: () => controller.close(),
    }
    stop = core.subscribe(request, sink, isLive ? 'live' : undefined)
  }
  // A loop that is slower than its results ends the subscription, and continues it later.
  const results = new ReadableStream<() => Sent<Data>>(
    {
      start: subscribe,
      pull: (controller) => void (!stop && (controller.desiredSize ?? 0) > mostQueued / 2 && subscribe(controller)),
      cancel: () => stop?.(),
    },
    { highWaterMark: mostQueued },
  ).getReader()
  const abort = () => void results.cancel()
  signal?.addEventListener('abort', abort)
  try {
    if (signal?.aborted) return
    for (let next = await results.read(); next.value; next = await results.read()) yield next.value()
  } finally {
    signal?.removeEventListener('abort', abort)
    stop?.()
    if (!shared) core.close()
  }
}

function toSent<Data>({ data, errors = [], extensions }: Result): Sent<Data> {
  const isForbidden = (error: FieldError) => error.extensions?.code === 'FORBIDDEN'
  if (!data || !errors.every(isForbidden)) throw new RequestError(errors, data)
  return { data: data as Data, errors, withheld: createWithheld(errors), position: extensions?.position }
}
