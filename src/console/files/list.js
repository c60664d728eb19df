// A list that loads its pages while it is scrolled, and renders only the rows that can be seen.

import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks'
import { run } from './client.js'
import { plural } from './format.js'
import { html } from './html.js'
import { hrefOf } from './router.js'
import { Empty, FailureNote, Live, Time } from './ui.js'

const firstPage = 100
const nextPages = 500
/** The most rows behind the loaded ones that the scrollbar shows. */
const maxAhead = 10_000

class Pages {
  nodes = []
  data = undefined
  total = undefined
  hasMore = true
  isLoading = false
  failure = undefined
  #cursor
  #aborted = new AbortController()

  constructor({ query, variables, field, onChange, before }) {
    Object.assign(this, { query, variables, field, onChange, hasMore: Boolean(query) })
    // The rows of the filters before are shown until the new ones are there.
    if (before) Object.assign(this, { nodes: before.nodes, total: before.total })
  }

  async load() {
    if (this.isLoading || !this.hasMore) return
    Object.assign(this, { isLoading: true, failure: undefined })
    this.onChange()
    const isFirst = this.#cursor === undefined
    const variables = { ...this.variables, first: isFirst ? firstPage : nextPages, after: this.#cursor, isFirst }
    try {
      const data = await run(this.query, variables, { signal: this.#aborted.signal })
      const { nodes, pageInfo, totalCount } = data[this.field]
      if (isFirst) Object.assign(this, { data, nodes: [], total: totalCount })
      // A row that has arrived by a subscription is not repeated.
      const known = new Set(this.nodes.map(({ id }) => id))
      this.nodes = [...this.nodes, ...nodes.filter(({ id }) => !known.has(id))]
      this.hasMore = pageInfo.hasNextPage
      this.#cursor = pageInfo.endCursor
    } catch (failure) {
      if (this.#aborted.signal.aborted) return
      this.failure = failure
    }
    this.isLoading = false
    this.onChange()
  }

  /** Replaces the rows that are known. Returns the others. */
  patch(changed) {
    const byId = new Map(changed.map((node) => [node.id, node]))
    const known = new Set(this.nodes.map(({ id }) => id))
    this.set(this.nodes.map((node) => byId.get(node.id) ?? node))
    return [...byId.values()].filter(({ id }) => !known.has(id))
  }

  /** Sets the rows, of which some were added or removed. */
  set(nodes) {
    if (this.total !== undefined) this.total += nodes.length - this.nodes.length
    this.nodes = nodes
    this.onChange()
  }

  stop() {
    this.#aborted.abort()
  }
}

/**
 * The pages of a connection, which is the field `field` of the query; without a query there are none. The query has the variables `first`,
 * `after` and, for what is read only once, `isFirst`. They are loaded again if the query or the variables change, and on `reload`.
 */
export function usePages(query, variables, field) {
  const [, onChange] = useReducer((count) => count + 1, 0)
  const [version, reload] = useReducer((count) => count + 1, 0)
  const before = useRef()
  const key = JSON.stringify([query, variables, version])
  const pages = useMemo(() => new Pages({ query, variables, field, onChange, before: before.current }), [key])
  before.current = pages
  useEffect(() => {
    pages.load()
    return () => pages.stop()
  }, [pages])
  return { pages, reload }
}

const overscan = 8
const narrow = matchMedia('(max-width: 48rem)')

/**
 * A table of rows that lead to their objects. The arrow keys, Page Up, Page Down, Home and End move from row to row.
 *
 * @param page the page of the objects; without it rows lead nowhere
 * @param order `{ field, direction }`, changed by `onOrder`
 * @param children what is shown instead of an empty list
 */
function Table({ label, page, columns, pages, selected, order, onOrder, children }) {
  const scroller = useRef(null)
  const [view, setView] = useState({ top: 0, height: 800, rowHeight: 44 })
  const { rowHeight } = view
  const [active, setActive] = useState(-1)
  const focusNext = useRef()
  const { nodes, total, hasMore, isLoading, failure } = pages
  const ahead = hasMore ? Math.min(Math.max((total ?? 0) - nodes.length, 20), maxAhead) : 0
  const count = nodes.length + (failure ? 0 : ahead)
  const from = Math.max(0, Math.floor(view.top / rowHeight) - overscan)
  const to = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + overscan)

  const measure = () => {
    const { scrollTop: top, clientHeight: height } = scroller.current
    // The heights in console.css.
    setView({ top, height, rowHeight: narrow.matches ? 64 : 44 })
  }
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure)
    observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [])
  // Only when other rows are seen, and not for each pixel.
  const onScroll = ({ currentTarget: { scrollTop } }) => {
    if (Math.abs(scrollTop - view.top) >= rowHeight * 2 || scrollTop === 0) measure()
  }
  useEffect(() => {
    if (to + 50 > nodes.length && hasMore && !isLoading && !failure) pages.load()
  })

  const first = useRef()
  useLayoutEffect(() => {
    // Rows that arrive above do not move those that are read.
    const moved = first.current === undefined ? 0 : nodes.findIndex(({ id }) => id === first.current)
    if (moved > 0 && moved < 100 && scroller.current.scrollTop > rowHeight)
      scroller.current.scrollTop += moved * rowHeight
    first.current = nodes[0]?.id
  }, [nodes])

  useEffect(() => {
    if (focusNext.current === undefined) return
    const link = scroller.current.querySelector(`[aria-rowindex="${focusNext.current + 2}"] a`)
    if (link) focusNext.current = undefined
    link?.focus({ preventScroll: true })
  })
  const onKeyDown = (event) => {
    const pageSize = Math.max(1, Math.floor(view.height / rowHeight) - 2)
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: pageSize, PageUp: -pageSize, Home: -count, End: nodes.length }
    const isRow = event.target === scroller.current || event.target.closest('[role=row] a')
    if (steps[event.key] === undefined || !isRow) return
    event.preventDefault()
    const at = Math.min(Math.max(current + steps[event.key], 0), nodes.length - 1)
    const box = scroller.current
    // The header covers one row.
    const lowest = (at + 2) * rowHeight - box.clientHeight
    box.scrollTop = Math.max(lowest, Math.min(at * rowHeight, box.scrollTop))
    // The row with the focus may be removed before the next one is rendered.
    box.focus({ preventScroll: true })
    focusNext.current = at
    measure()
    setActive(at)
  }

  const highest = Math.min(Math.ceil(view.top / rowHeight), Math.max(nodes.length - 1, 0))
  const current = active >= from && active < to ? active : highest
  const isEmpty = nodes.length === 0 && !hasMore && !failure
  const style = { '--columns': columns.map(({ width }) => width).join(' ') }
  return html`
    <div class="scroller" ref=${scroller} tabindex=${page ? -1 : 0} onScroll=${onScroll} onKeyDown=${onKeyDown}>
      <div role="table" aria-label=${label} aria-rowcount=${hasMore ? -1 : nodes.length + 1} aria-busy=${isLoading} style=${style}>
        <div role="rowgroup" class="head">
          <div role="row" class="row" aria-rowindex="1">
            ${columns.map((each) => html`<${Heading} column=${each} order=${order} onOrder=${onOrder} />`)}
          </div>
        </div>
        <div role="rowgroup" class="rows" style=${{ height: `${count * rowHeight}px` }}>
          ${Array.from({ length: Math.max(0, to - from) }, (_, offset) => {
            const at = from + offset
            const node = nodes[at]
            return html`<${Row}
              key=${node?.id ?? at}
              ...${{ at, node, columns, page, rowHeight }}
              isSelected=${node !== undefined && node.id === selected}
              isTabStop=${at === current}
            />`
          })}
        </div>
      </div>
      ${isEmpty && children}
      ${failure && html`<${FailureNote} failure=${failure} onRetry=${() => pages.load()} />`}
    </div>
  `
}

function Heading({ column: { title, order: field, narrow = 'wide' }, order, onOrder }) {
  if (!field) return html`<div role="columnheader" class=${narrow}>${title}</div>`
  const direction = order?.field === field ? order.direction : undefined
  const sort = { ASC: 'ascending', DESC: 'descending' }[direction] ?? 'none'
  const next = direction === 'DESC' || (!direction && field === 'NAME') ? 'ASC' : 'DESC'
  return html`
    <div role="columnheader" class=${narrow} aria-sort=${sort}>
      <button type="button" class="bare" onClick=${() => onOrder({ order: field, direction: next })}>${title} ${{ ASC: '↑', DESC: '↓' }[direction]}</button>
    </div>
  `
}

function Row({ at, node, columns, page, rowHeight, isSelected, isTabStop }) {
  const link = (text) =>
    html`<a href=${hrefOf(page, node.id)} tabindex=${isTabStop ? 0 : -1} aria-current=${isSelected}>${text}</a>`
  const contentOf = (cell, index) => {
    if (!node) return html`<i class="pulse"></i>`
    return index === 0 && page ? link(cell(node)) : cell(node)
  }
  const style = { transform: `translateY(${at * rowHeight}px)` }
  return html`
    <div role="row" class="row ${isSelected ? 'selected' : ''}" aria-rowindex=${at + 2} aria-hidden=${!node} style=${style}>
      ${columns.map(({ narrow = 'wide', cell }, index) => html`<div role="cell" class=${narrow}>${contentOf(cell, index)}</div>`)}
    </div>
  `
}

/** A column of a table. `narrow` says where the cell is on a narrow screen. */
export const column = (title, width, cell, narrow, order) => ({ title, width, cell, narrow, order })

/** A cell with the time of a field. */
export const timeOf = (field) => (node) => html`<${Time} at=${node[field]} />`

/**
 * A page with a list, and the selected object beside it.
 *
 * @param word what the list has, in the singular, to show how many there are
 * @param isFiltered whether filters are chosen; `onReset` removes them
 * @param help what is shown instead of an empty list
 */
export function ListPage({ title, word, live, actions, filters, isFiltered, onReset, help, panel, ...table }) {
  const { total } = table.pages
  return html`
    <div class="page">
      <header class="line">
        <h1>${title}</h1>${word && total !== undefined && html`<span class="soft" role="status">${plural(total, word)}</span>`}
        <${Live} state=${live} /><span class="push"></span>${actions}
      </header>
      ${filters}
      <div class="split">
        <${Table} label=${title} ...${table}>
          ${
            isFiltered
              ? html`<${Empty} title="Nothing matches"><button type="button" onClick=${onReset}>Remove the filters</button><//>`
              : html`<${Empty} title="Nothing here yet">${help}<//>`
          }
        <//>
        ${panel}
      </div>
    </div>
  `
}
