import { mutationHeaders } from './action.ts'
import { type ClientOptions, createCore } from './core.ts'
import { type Created, createdBy, namesChangedBy } from './created.ts'
import { type Deleted, deletedBy } from './deleted.ts'
import { RequestError } from './errors.ts'
import { createPages } from './pages.ts'
import { createPositions } from './positions.ts'
import { type GraphQLRequest, positionOf, type Result } from './request.ts'
import type { Sink } from './transport.ts'

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
  /**
   * The result that the library gets: with the later pages of a list that is read again because something was created.
   */
  complete(result: Result): Result | Promise<Result>
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
  /**
   * Reads again what may have objects that were created. A query that was sent before a creation may lack its objects:
   * then this is called again when its result has arrived.
   */
  add(created: readonly Created[]): void
  /** Forgets everything, and reads again what is shown. */
  forget(): void
}

/** Events can say more often that something was created than a page should be read again. */
const createdMilliseconds = 1_000

/** Objects whose creation is known. */
const maxKnown = 1_000

/** Connects a library to the gateway. */
export function connect(options: ClientOptions, { remove = () => {}, add, forget }: Cache) {
  const core = createCore(options, () => {
    running.clear()
    positions.forget()
    pages.forget()
    creations.forget()
    forget()
  })
  /** The queries that are read, and what was deleted and created meanwhile. */
  const running = new Set<{ readonly deleted: Deleted[]; readonly created: Created[] }>()
  const positions = createPositions()
  const pages = createPages(async (request) => {
    const response = await core.fetch(options.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    })
    return (await response.json()) as Result
  })
  const creations = createCreations((created) => {
    pages.outdate(created.length, namesChangedBy(created))
    add(created)
  })

  function removeAll(deleted: readonly Deleted[]): void {
    if (deleted.length === 0) return
    creations.delete(deleted)
    for (const since of running) since.deleted.push(...deleted)
    pages.keep()
    remove(deleted)
  }

  /** Shows what the result of a mutation or an event has created. */
  function addNew(data: unknown, isOwn: boolean): void {
    const created = creations.newOf(createdBy(data))
    for (const since of running) since.created.push(...created)
    creations.add(created, isOwn)
  }

  return {
    fetch: core.fetch,
    close() {
      creations.end()
      core.close()
    },
    /**
     * An operation is sent.
     *
     * @param request returns what is sent
     */
    begin(kind: OperationKind, action: string | undefined, request: () => GraphQLRequest): Operation {
      const isQuery = kind === 'query'
      const since = { deleted: [], created: [] }
      if (isQuery) running.add(since)
      const asked = isQuery ? positions.ask() : undefined
      const sentAt = performance.now()
      return {
        deleted: since.deleted,
        complete: (result) => (isQuery ? pages.complete(request, result, sentAt) : result),
        headers: { ...(kind === 'mutation' && mutationHeaders(action)), ...(asked && { 'x-position': 'yes' }) },
        read(result) {
          asked?.settle(result.extensions?.position)
          if (isQuery) pages.read(request, result)
          if (kind !== 'mutation') return
          removeAll(deletedBy(result.data))
          addNew(result.data, true)
        },
        end() {
          asked?.settle()
          if (!running.delete(since)) return
          if (since.deleted.length > 0) remove(since.deleted)
          creations.add(since.created, false)
        },
      }
    },
    /**
     * Follows a live query. One that the gateway rejects has a result with errors.
     */
    live: (request: GraphQLRequest, sink: Sink) => core.subscribe(request, withRejection(sink), 'live'),
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
          ...withRejection(sink),
          next(result) {
            sink.next(result)
            followed.moveTo(positionOf(result))
            removeAll(deletedBy(result.data))
            addNew(result.data, false)
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

/** Makes a result of what the gateway has rejected. */
const withRejection = (sink: Sink): Sink => ({
  next: (result) => sink.next(result),
  complete: () => sink.complete(),
  error(error) {
    if (!(error instanceof RequestError)) return sink.error(error)
    sink.next({ data: null, errors: error.errors })
    sink.complete()
  },
})

/**
 * Creates the memory of what was created.
 *
 * @param show shows what the page does not show yet
 */
function createCreations(show: (created: readonly Created[]) => void) {
  /** What the page has created, and what an event has said: the other one says it too. */
  const known = new Set<string>()
  const waiting: Created[] = []
  let shownAt = Number.NEGATIVE_INFINITY
  let timer: ReturnType<typeof setTimeout> | undefined

  function showWaiting(): void {
    clearTimeout(timer)
    timer = undefined
    shownAt = performance.now()
    const created = waiting.splice(0)
    if (created.length > 0) show(created)
  }

  return {
    /** Those that were not known before. */
    newOf(created: readonly Created[]): readonly Created[] {
      const found = created.filter(({ __typename, id }) => {
        const before = known.size
        return id === undefined || known.add(`${__typename}:${id}`).size > before
      })
      for (const key of known) if (known.size > maxKnown) known.delete(key)
      return found
    },
    delete(deleted: readonly Deleted[]): void {
      for (const { __typename, id } of deleted) known.delete(`${__typename}:${id}`)
    },
    /** @param isOwn the page has created them, and shows them at once */
    add(created: readonly Created[], isOwn: boolean): void {
      if (created.length === 0) return
      waiting.push(...created)
      const left = shownAt + createdMilliseconds - performance.now()
      if (isOwn || left <= 0) showWaiting()
      else timer ??= setTimeout(showWaiting, left)
    },
    forget(): void {
      known.clear()
      waiting.length = 0
    },
    end: () => clearTimeout(timer),
  }
}

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
