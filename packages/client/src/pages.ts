import type { GraphQLRequest, Result } from './request.ts'

/** A list in a result. */
interface Connection {
  readonly edges?: readonly unknown[]
  readonly nodes?: readonly unknown[]
  readonly pageInfo: { readonly endCursor?: string | null; readonly hasNextPage?: boolean }
}

/** A list of which a page has read a part: its first page, and those that were loaded after it. */
interface Grown {
  /** The request of the first page. */
  readonly request: GraphQLRequest
  /** Where the list is in the result: `user.accountsConnection`. */
  readonly path: string
  /** The rows of each page, by the cursor after which it begins. */
  readonly rows: Map<string, number>
  hasNextPage: boolean
  /** The request of a later page, and the name of the variable that has its cursor. */
  next?: { readonly request: GraphQLRequest; readonly variable: string }
  /** Objects that were created since it was read, and that it may have. */
  created: number
  /**
   * When it was read again after something was created: the result of a request that was sent before lacks the later
   * pages too.
   */
  completedAt: number
  /** Something was deleted or created: when the first page is read again, the cache keeps the later ones. */
  isKept: boolean
}

/** A list of which nothing is known. */
const empty = { hasNextPage: false, created: 0, completedAt: Number.NEGATIVE_INFINITY, isKept: false }

/** Lists that are remembered. */
const maxLists = 200

/**
 * Creates the memory of the lists that have grown page by page. When one of them may have a new object, its rows are
 * read again from the first one on: the object can be in each page.
 *
 * @param send sends a query for a page
 */
export function createPages(send: (request: GraphQLRequest) => Promise<Result>) {
  const lists = new Map<string, Grown>()
  let persons = 0

  /** The list that a request continues: it has the last cursor of the list in a variable, and its other variables. */
  function continued({ variables = {} }: GraphQLRequest) {
    for (const list of [...lists.values()].toReversed()) {
      const [variable, cursor] =
        Object.entries(variables).find(([, value]) => value && list.rows.has(String(value))) ?? []
      if (variable === undefined) continue
      const given = new Map(Object.entries(variables))
      const others = Object.entries(list.request.variables ?? {}).filter(([name]) => name !== variable)
      const isSame = others.every(([name, value]) => keyOf(value) === keyOf(given.get(name)))
      if (isSame) return { list, variable, cursor: String(cursor) }
    }
    return undefined
  }

  return {
    /** Remembers which part of its lists a query has read. */
    read(requestOf: () => GraphQLRequest, result: Result): void {
      const found = connectionsIn(result.data)
      if (found.size === 0) return
      const request = requestOf()
      const next = continued(request)
      if (next) {
        const { list, variable, cursor } = next
        const page = pageOf(found, list.path)
        if (!page) return
        list.next = { request, variable }
        list.rows.set(cursor, rowsOf(page))
        moveEnd(list, page)
        return
      }
      for (const [path, page] of found) {
        const key = keyOf([request.query ?? request.documentId, request.variables, path])
        const known = lists.get(key)
        const list: Grown = { ...empty, request, path, rows: new Map() }
        moveEnd(list, page)
        if (known?.isKept && known.next) {
          list.next = known.next
          // Those of all pages are in this one, if something was created.
          if (known.created > 0) list.completedAt = performance.now()
          else Object.assign(list, { rows: known.rows, hasNextPage: known.hasNextPage })
        }
        list.rows.set('', rowsOf(page))
        lists.delete(key)
        lists.set(key, list)
      }
      for (const key of lists.keys()) if (lists.size > maxLists) lists.delete(key)
    },
    /** Something was deleted. */
    keep(): void {
      for (const list of lists.values()) list.isKept = true
    },
    /**
     * Objects were created.
     *
     * @param names the fields that may have them
     */
    outdate(count: number, names: readonly string[]): void {
      const mayRead = new RegExp(`\\b(${names.join('|')})\\b`)
      for (const list of lists.values()) {
        // Of a document with an id the text is unknown.
        if (!list.next || (list.request.query !== undefined && !mayRead.test(list.request.query))) continue
        list.created += count
        list.isKept = true
      }
    },
    /**
     * Adds to the result of a first page those that were loaded after it, if something was created since.
     *
     * @param sentAt when the request was sent, by `performance.now()`
     */
    complete(requestOf: () => GraphQLRequest, result: Result, sentAt: number): Result | Promise<Result> {
      const outdated = [...lists.values()].filter(({ created, completedAt }) => created > 0 || completedAt > sentAt)
      if (outdated.length === 0 || !result.data) return result
      const request = requestOf()
      const ofRequest = outdated.filter((list) => isSameRequest(list.request, request))
      return ofRequest.length > 0 ? readOn(ofRequest, request, result) : result
    },
    /** Another person begins anew. */
    forget(): void {
      persons += 1
      lists.clear()
    },
  }

  async function readOn(grown: readonly Grown[], request: GraphQLRequest, first: Result): Promise<Result> {
    const begun = persons
    let result = first
    for (const { path, next, rows, hasNextPage, created } of grown) {
      let list = connectionsIn(result.data).get(path)
      // The end of the list may have moved.
      const wanted = [...rows.values()].reduce((sum, each) => sum + each, hasNextPage ? 0 : created)
      while (next && list && rowsOf(list) < wanted && list.pageInfo.hasNextPage && list.pageInfo.endCursor) {
        const variables = { ...next.request.variables, [next.variable]: list.pageInfo.endCursor }
        // Without this page the list ends before it.
        const more = await send({ ...next.request, variables }).catch(() => undefined)
        if (begun !== persons) return send(request)
        const page = pageOf(connectionsIn(more?.data), path)
        if (!page) break
        list = {
          ...list,
          ...(list.edges && { edges: [...list.edges, ...(page.edges ?? [])] }),
          ...(list.nodes && { nodes: [...list.nodes, ...(page.nodes ?? [])] }),
          pageInfo: { ...list.pageInfo, ...page.pageInfo },
        }
      }
      result = { ...result, data: replaceAt(result.data, path.split('.'), list) as Result['data'] & {} }
    }
    return result
  }
}

const keyOf = (value: unknown) => JSON.stringify(value ?? null)

const isSameRequest = (one: GraphQLRequest, other: GraphQLRequest) =>
  keyOf([one.query, one.documentId, one.variables]) === keyOf([other.query, other.documentId, other.variables])

const rowsOf = ({ edges, nodes }: Connection) => Math.max(edges?.length ?? 0, nodes?.length ?? 0)

/** The next page begins at the end of this one. */
function moveEnd(list: Grown, { pageInfo }: Connection): void {
  list.hasNextPage = pageInfo.hasNextPage ?? false
  const { endCursor } = pageInfo
  if (endCursor && !list.rows.has(endCursor)) list.rows.set(endCursor, 0)
}

/** The lists of a result, by their paths. Those within the rows of others are left out. */
function connectionsIn(data: unknown, path: readonly string[] = []): Map<string, Connection> {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return new Map()
  if ('pageInfo' in data && data.pageInfo) return new Map([[path.join('.'), data as Connection]])
  return new Map(Object.entries(data).flatMap(([name, value]) => [...connectionsIn(value, [...path, name])]))
}

/** A list in the result of another document, which may read it by `node`. */
const pageOf = (found: ReadonlyMap<string, Connection>, path: string): Connection | undefined =>
  found.get(path) ?? (found.size === 1 ? [...found.values()][0] : undefined)

function replaceAt(data: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value
  const entries = Object.entries(data as object)
  return Object.fromEntries(entries.map(([key, each]) => [key, key === name ? replaceAt(each, rest, value) : each]))
}
