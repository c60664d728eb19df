import { mutationHeaders } from './action.ts'
import { type ClientOptions, createCore } from './core.ts'
import { type Deleted, deletedBy } from './deleted.ts'
import { RequestError } from './errors.ts'
import { createPositions } from './positions.ts'
import { type GraphQLRequest, positionOf, type Result } from './request.ts'
import type { Sink } from './subscribe.ts'

export type OperationKind = 'query' | 'mutation' | 'subscription'

/** What the clients of all libraries do. */
export type Connection = ReturnType<typeof connect>

export interface Closable {
  /** Ends all subscriptions, and running and waiting requests. */
  close(): void
}

/** What a library keeps of an operation that it has sent. */
export interface Operation {
  readonly headers: Readonly<Record<string, string>>
  /** What was deleted since it was sent. */
  readonly deleted: readonly Deleted[]
  /** The library has the result in its cache. */
  read(result: Result): void
  /** The operation has a result, or gets none. */
  end(): void
}

/** What a cache does for the package. */
export interface Cache {
  /**
   * Removes objects that were deleted. A query that was sent before a deletion can bring its objects back: then they are removed again when
   * its result has arrived.
   */
  remove?(deleted: readonly Deleted[]): void
  /** Forgets everything, and reads again what is shown. */
  forget(): void
}

/** Connects a library to the gateway. */
export function connect(options: ClientOptions, { remove = () => {}, forget }: Cache) {
  const core = createCore(options, () => {
    running.clear()
    positions.forget()
    forget()
  })
  const running = new Set<Deleted[]>()
  const positions = createPositions()

  function removeAll(deleted: readonly Deleted[]): void {
    if (deleted.length === 0) return
    for (const since of running) since.push(...deleted)
    remove(deleted)
  }

  return {
    fetch: core.fetch,
    close: core.close,
    /** An operation is sent. */
    begin(kind: OperationKind, action?: string): Operation {
      const isQuery = kind === 'query'
      const since: Deleted[] = []
      if (isQuery) running.add(since)
      const asked = isQuery ? positions.ask() : undefined
      return {
        deleted: since,
        headers: { ...(kind === 'mutation' && mutationHeaders(action)), ...(asked && { 'x-position': 'yes' }) },
        read(result) {
          asked?.settle(result.extensions?.position)
          if (kind === 'mutation') removeAll(deletedBy(result.data))
        },
        end() {
          asked?.settle()
          if (running.delete(since) && since.length > 0) remove(since)
        },
      }
    },
    /**
     * Subscribes. `events` begin where the page was read, or after the last event of the same subscription, unless the variable `after`
     * is given. An operation that the gateway rejects has a result with errors, as that of a query has.
     */
    subscribe(request: GraphQLRequest, sink: Sink): () => void {
      const followed = positions.follow(request)
      const hasAfter = request.variables?.['after'] != null
      const stop = core.subscribe(
        request,
        {
          next(result) {
            sink.next(result)
            followed.moveTo(positionOf(result))
            removeAll(deletedBy(result.data))
          },
          complete: () => sink.complete(),
          error(error) {
            if (!(error instanceof RequestError)) return sink.error(error)
            sink.next({ data: null, errors: error.errors })
            sink.complete()
          },
        },
        hasAfter ? undefined : followed.start,
      )
      return () => {
        followed.end()
        stop()
      }
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
