import { mutationHeaders } from './action.ts'
import { type ClientOptions, createCore } from './core.ts'
import { type Deleted, deletedBy } from './deleted.ts'
import { RequestError } from './errors.ts'
import { continueAfter, type GraphQLRequest, positionOf, type Result } from './request.ts'
import type { Sink } from './subscribe.ts'

export type OperationKind = 'query' | 'mutation' | 'subscription'

/** What the clients of all libraries do. */
export type Connection = ReturnType<typeof connect>

/**
 * Connects a library to the gateway.
 *
 * @param remove removes objects from the cache that were deleted. A query that was sent before a deletion can bring its objects back: then
 *   they are removed again when its result has arrived
 */
export function connect(options: ClientOptions, remove: (deleted: readonly Deleted[]) => void = () => {}) {
  const core = createCore(options)
  const running = new Set<Deleted[]>()
  let position: string | undefined

  /** The cache has the result of an operation. */
  function read(kind: OperationKind, result: Result): void {
    if (kind === 'subscription') position = positionOf(result) ?? position
    else position ??= result.extensions?.position
    const deleted = kind === 'query' ? [] : deletedBy(result.data)
    if (deleted.length === 0) return
    for (const since of running) since.push(...deleted)
    remove(deleted)
  }

  return {
    fetch: core.fetch,
    close: core.close,
    read,
    headersOf(kind: OperationKind, action?: string): Record<string, string> {
      if (kind === 'mutation') return { ...mutationHeaders(action) }
      return position === undefined ? { 'x-position': 'yes' } : {}
    },
    /** A query is sent. Call the returned function when the cache has its result, or when it has none. */
    start(): () => void {
      const since: Deleted[] = []
      running.add(since)
      return () => {
        if (running.delete(since) && since.length > 0) remove(since)
      }
    },
    /**
     * Subscribes. `events` begin where the first query of the page was read, or after the last event that has arrived, unless the variable
     * `after` is given. An operation that the gateway rejects has a result with errors, as that of a query has.
     */
    subscribe(request: GraphQLRequest, sink: Sink): () => void {
      return core.subscribe(continueAfter(request, request.variables?.['after'] ?? position), {
        next(result) {
          sink.next(result)
          read('subscription', result)
        },
        complete: () => sink.complete(),
        error(error) {
          if (!(error instanceof RequestError)) return sink.error(error)
          sink.next({ data: null, errors: error.errors })
          sink.complete()
        },
      })
    },
  }
}

/** The field of Query that reads an object of a type by its id: `User` ⇒ `user`. */
export const fieldOf = (type: string): string => type.charAt(0).toLowerCase() + type.slice(1)

/**
 * The rows of a list that its first page, which was read again after a deletion, does not have. None if a row before them is missing
 * from the page too: it may have moved, and the whole list is read again.
 */
export function rowsAfter<Row>(
  known: readonly Row[],
  page: readonly Row[],
  idOf: (row: Row) => string | undefined,
): readonly Row[] {
  const ids = new Set(page.map(idOf))
  const end = known.findIndex((row) => !ids.has(idOf(row)))
  const later = end > 0 ? known.slice(end) : []
  return later.some((row) => ids.has(idOf(row))) ? [] : later
}
