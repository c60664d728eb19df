// The rows of a connection: a window of them, which moves with those that are seen, so that the query can be live.

import { useRef, useState } from 'preact/hooks'
import type { Document } from './document.ts'
import type { Failure } from './failure.ts'
import type { LiveState } from './live.ts'
import { useQuery } from './query.ts'

const firstPage = 100
/** How many rows the window has when the first page is not enough, and by how many it moves. */
const window = { size: 500, step: 250 }
/** How many rows are read before they are seen. */
const margin = 50

export interface Node {
  readonly id: string
}

/** What a table needs of its rows. */
export interface Rows<Row extends Node> {
  /** Those that are loaded. */
  readonly nodes: readonly Row[]
  /** How many rows are before them, about: rows may have been added or removed there. */
  readonly offset: number
  readonly total?: number | undefined
  /** Whether there are rows behind them. */
  readonly hasMore: boolean
  readonly isLoading: boolean
  readonly failure?: Failure | undefined
  readonly live?: LiveState
  /** Names the list with its filters and order. */
  readonly key: string
  /** Loads rows that are seen, if they are not loaded. */
  show?(from: number, to: number): void
  reload(): void
}

interface Connection<Row> {
  readonly edges: readonly { readonly cursor: string; readonly node: Row }[]
  readonly pageInfo: { readonly hasNextPage: boolean }
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
  readonly variables: Omit<Variables, keyof PageVariables>
  connectionOf(data: Data): Connection<Row> | null
}

interface Pages<Data, Row extends Node> extends Rows<Row> {
  readonly data: Data | undefined
}

/**
 * The rows of a list. Only a window of them is kept: it begins behind a cursor, and all of its rows are read together,
 * so they are right as long as the query is live.
 */
export function usePages<Data, Variables extends PageVariables, Row extends Node>({
  query,
  variables,
  connectionOf,
}: List<Data, Variables, Row>): Pages<Data, Row> {
  const key = JSON.stringify([query, variables])
  const [moved, moveTo] = useState({ key, at: 0, first: firstPage })
  const { at, first } = moved.key === key ? moved : { at: 0, first: firstPage }
  /** The cursors behind which the windows begin. */
  const cursors = useRef<{ readonly key: string; readonly after: (string | undefined)[] }>({ key, after: [] })
  if (cursors.current.key !== key) cursors.current = { key, after: [] }
  const { after } = cursors.current
  const page: PageVariables = { first, after: after[at] }
  const state = useQuery(query, { ...variables, ...page } as Variables)
  /** The rows of the window or of the filters before are shown until the next ones are there. */
  const shown = useRef<Pick<Pages<Data, Row>, 'data' | 'nodes' | 'offset' | 'total' | 'hasMore'>>()
  const { data, failure, live, reload } = state
  if (data && data !== shown.current?.data) {
    const { edges = [], pageInfo, totalCount } = connectionOf(data) ?? {}
    after[at + 1] = edges[window.step - 1]?.cursor
    const nodes = edges.map(({ node }) => node)
    const hasMore = pageInfo?.hasNextPage ?? false
    shown.current = { data, nodes, offset: at * window.step, total: totalCount, hasMore }
  }
  const rows = shown.current ?? { data, nodes: [], offset: 0, hasMore: query !== false }

  function show(from: number, to: number): void {
    const { nodes, offset, hasMore } = rows
    const isShown = from >= offset && (!hasMore || to + margin <= offset + nodes.length)
    // While the next window is read, who goes back keeps the rows that are shown.
    if (data ? isShown : from >= at * window.step) return
    const next = Math.min(Math.max(0, Math.floor((from - margin) / window.step)), at + 1)
    if (next !== at || first < window.size) moveTo({ key, at: first < window.size ? at : next, first: window.size })
  }

  return { ...rows, key, failure, live, isLoading: Boolean(query && !data && !failure), show, reload }
}
