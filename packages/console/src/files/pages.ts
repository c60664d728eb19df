// The rows of a connection, which are loaded page by page.

import { useEffect, useMemo, useReducer, useRef } from 'preact/hooks'
import { run } from './client.ts'
import type { Document } from './document.ts'
import { type Failure, failureOf } from './failure.ts'

const firstPage = 100
const nextPages = 500

export interface Node {
  readonly id: string
}

/** What a table needs of its rows. */
export interface Rows<Row extends Node> {
  readonly nodes: readonly Row[]
  readonly total?: number | undefined
  readonly hasMore: boolean
  readonly isLoading: boolean
  readonly failure?: Failure | undefined
  load(): Promise<void>
}

/** A page of a connection. `totalCount` is read with the first page. */
interface Connection<Row> {
  readonly nodes: readonly Row[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  readonly totalCount?: number
}

interface PageVariables {
  first?: number | null | undefined
  after?: string | null | undefined
}

interface List<Data, Variables extends PageVariables, Row> {
  /** Without it there are no rows. */
  readonly query: Document<Data, Variables> | false
  /** The variables besides those of the page. */
  variablesOf(isFirst: boolean): Omit<Variables, keyof PageVariables>
  connectionOf(data: Data): Connection<Row> | null
}

class Pages<Data, Variables extends PageVariables, Row extends Node> implements Rows<Row> {
  nodes: readonly Row[]
  /** The data with the first page. */
  data: Data | undefined
  total: number | undefined
  hasMore: boolean
  isLoading = false
  failure: Failure | undefined
  readonly #list: List<Data, Variables, Row>
  readonly #onChange: () => void
  readonly #aborted = new AbortController()
  #cursor: string | null | undefined

  /** @param before the rows of the filters before, which are shown until the new ones are there */
  constructor(list: List<Data, Variables, Row>, onChange: () => void, before: Rows<Row> | undefined) {
    this.#list = list
    this.#onChange = onChange
    this.hasMore = list.query !== false
    this.nodes = before?.nodes ?? []
    this.total = before?.total
  }

  async load(): Promise<void> {
    const { query, variablesOf, connectionOf } = this.#list
    if (this.isLoading || !this.hasMore || !query) return
    this.isLoading = true
    this.failure = undefined
    this.#onChange()
    const isFirst = this.#cursor === undefined
    const page = { first: isFirst ? firstPage : nextPages, after: this.#cursor }
    try {
      const variables = { ...variablesOf(isFirst), ...page } as Variables
      const data = await run(query, variables, { signal: this.#aborted.signal })
      const connection = connectionOf(data)
      if (isFirst) {
        this.data = data
        this.nodes = []
        this.total = connection?.totalCount
      }
      // A row that has arrived by a subscription is not repeated.
      const known = new Set(this.nodes.map(({ id }) => id))
      this.nodes = this.nodes.concat(connection?.nodes.filter(({ id }) => !known.has(id)) ?? [])
      this.hasMore = connection?.pageInfo.hasNextPage ?? false
      this.#cursor = connection?.pageInfo.endCursor ?? null
    } catch (error) {
      if (this.#aborted.signal.aborted) return
      this.failure = failureOf(error)
    }
    this.isLoading = false
    this.#onChange()
  }

  /** Replaces the rows that are known. Returns the others. */
  patch(changed: readonly Row[]): Row[] {
    const byId = new Map(changed.map((node) => [node.id, node]))
    const known = new Set(this.nodes.map(({ id }) => id))
    this.set(this.nodes.map((node) => byId.get(node.id) ?? node))
    return [...byId.values()].filter(({ id }) => !known.has(id))
  }

  /** Sets the rows, of which some were added or removed. */
  set(nodes: readonly Row[]): void {
    if (this.total !== undefined) this.total += nodes.length - this.nodes.length
    this.nodes = nodes
    this.#onChange()
  }

  stop(): void {
    this.#aborted.abort()
  }
}

/** The pages of a list. They are loaded again if the query or the variables change, and on `reload`. */
export function usePages<Data, Variables extends PageVariables, Row extends Node>(list: List<Data, Variables, Row>) {
  const [, onChange] = useReducer<number, void>((count) => count + 1, 0)
  const [version, reload] = useReducer<number, void>((count) => count + 1, 0)
  const before = useRef<Rows<Row>>()
  const key = JSON.stringify([list.query, list.variablesOf(true), version])
  const pages = useMemo(() => new Pages(list, () => onChange(), before.current), [key])
  before.current = pages
  useEffect(() => {
    pages.load()
    return () => pages.stop()
  }, [pages])
  return { pages, reload: () => reload() }
}
