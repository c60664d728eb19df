// A table that renders only the rows that can be seen.

import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { h, html } from './html.ts'
import type { OrderDirection } from './operations.generated.ts'
import type { Node, Rows } from './pages.ts'
import { hrefOf } from './router.ts'
import { FailureNote, Time } from './ui.ts'

/** The most rows behind the loaded ones that the scrollbar shows, if there are more of them. */
const maxAhead = 10_000
const overscan = 8
const narrow = matchMedia('(max-width: 48rem)')

/** The field and direction by which a list is ordered. */
export interface Order {
  readonly field: string
  readonly direction: OrderDirection
}

export interface Column<Row> {
  readonly title: string
  readonly width: string
  readonly cell: (row: Row) => ComponentChildren
  /** Where the cell is on a narrow screen: `title`, `end`, `meta` or `meta-end`. By default nowhere. */
  readonly place: string
  /** The field by which the list is ordered with this column. */
  readonly order?: string | undefined
}

/** A column of a table. */
export const column = <Row>(
  title: string,
  width: string,
  cell: Column<Row>['cell'],
  place = 'wide',
  order?: string,
): Column<Row> => ({ title, width, cell, place, order })

/** A cell with the time of a field. */
export const timeOf =
  <Field extends string>(field: Field) =>
  (row: { readonly [Key in Field]: string | null }) =>
    h(Time, { at: row[field] })

export interface TableProps<Row extends Node> {
  readonly columns: readonly Column<Row>[]
  readonly pages: Rows<Row>
  /** The page of the objects; without it rows lead nowhere. */
  readonly page?: string
  /** The id of the object that is shown. */
  readonly selected?: string | undefined
  readonly order?: Order
  readonly onOrder?: (changed: { readonly order: string; readonly direction: OrderDirection }) => void
}

interface View {
  readonly top: number
  readonly height: number
  readonly rowHeight: number
}

/**
 * Rows that lead to their objects. The arrow keys, Page Up, Page Down, Home and End move from row to row.
 *
 * @param children what is shown instead of an empty list
 */
export function Table<Row extends Node>({
  label,
  page,
  columns,
  pages,
  selected,
  order,
  onOrder,
  children,
}: TableProps<Row> & { readonly label: string; readonly children?: ComponentChildren }) {
  const scroller = useRef<HTMLDivElement>(null)
  const [view, setView] = useState<View>({ top: 0, height: 800, rowHeight: 44 })
  const { rowHeight } = view
  const { nodes, offset, total, hasMore, isLoading, failure } = pages
  const end = offset + nodes.length
  const ahead = hasMore ? Math.min(Math.max((total ?? 0) - end, 20), maxAhead) : 0
  const count = end + (failure ? 0 : ahead)
  const from = Math.max(0, Math.floor(view.top / rowHeight) - overscan)
  const to = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + overscan)

  const measure = () => {
    if (!scroller.current) return
    const { scrollTop: top, clientHeight: height } = scroller.current
    // The heights in console.css.
    setView({ top, height, rowHeight: narrow.matches ? 64 : 44 })
  }
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure)
    if (scroller.current) observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [])
  // Only when other rows are seen, and not for each pixel.
  const onScroll = () => {
    const top = scroller.current?.scrollTop ?? 0
    if (Math.abs(top - view.top) >= rowHeight * 2 || top === 0) measure()
  }
  useEffect(() => pages.show?.(from, to))
  useLayoutEffect(() => scroller.current?.scrollTo(0, 0), [pages.key])

  const before = useRef(pages)
  useLayoutEffect(() => {
    const box = scroller.current
    const moved = rowsMoved(before.current, pages, from, from + overscan + 1)
    if (box && box.scrollTop > rowHeight) box.scrollTop += moved * rowHeight
    before.current = pages
  }, [nodes])

  const { current, onKeyDown } = useKeyboard({ scroller, view, end, count, from, to, measure })
  const isEmpty = nodes.length === 0 && !hasMore && !failure
  const style = { '--columns': columns.map(({ width }) => width).join(' ') }
  return html`
    <div class="scroller" ref=${scroller} tabindex=${page ? -1 : 0} onScroll=${onScroll} onKeyDown=${onKeyDown}>
      <div role="table" aria-label=${label} aria-rowcount=${hasMore ? -1 : end + 1} aria-busy=${isLoading} style=${style}>
        <div role="rowgroup" class="head">
          <div role="row" class="row" aria-rowindex="1">
            ${columns.map((each) => h(Heading<Row>, { column: each, order, onOrder }))}
          </div>
        </div>
        <div role="rowgroup" class="rows" style=${{ height: `${count * rowHeight}px` }}>
          ${Array.from({ length: Math.max(0, to - from) }, (_, index) => {
            const at = from + index
            const node = nodes[at - offset]
            const isSelected = node !== undefined && node.id === selected
            const isTabStop = at === current
            return h(TableRow<Row>, { key: node?.id ?? at, at, node, columns, page, rowHeight, isSelected, isTabStop })
          })}
        </div>
      </div>
      ${isEmpty && children}
      ${failure && h(FailureNote, { failure, onRetry: pages.reload })}
    </div>
  `
}

/**
 * By how many places the rows before the first one on the screen have moved: most of them, because some may have got
 * another place among the others. Changes above do not move what is read.
 */
function rowsMoved<Row extends Node>(before: Rows<Row>, now: Rows<Row>, from: number, to: number): number {
  if (before.key !== now.key) return 0
  const places = new Map(now.nodes.map(({ id }, index) => [id, index + now.offset]))
  const read = before.nodes.slice(Math.max(0, from - before.offset), Math.max(0, to - before.offset))
  const first = Math.max(from, before.offset)
  const moved = read.flatMap(({ id }, index) => (places.get(id) ?? Number.NaN) - index - first)
  const known = moved.filter((rows) => !Number.isNaN(rows)).toSorted((a, b) => a - b)
  return known[Math.floor(known.length / 2)] ?? 0
}

interface KeyboardOptions {
  readonly scroller: { readonly current: HTMLDivElement | null }
  readonly view: View
  /** The number of the row behind the loaded ones. */
  readonly end: number
  readonly count: number
  /** The rows that are rendered. */
  readonly from: number
  readonly to: number
  readonly measure: () => void
}

/** Moves the focus from row to row. Returns the row that the Tab key reaches. */
function useKeyboard({ scroller, view, end, count, from, to, measure }: KeyboardOptions) {
  const { rowHeight } = view
  const [active, setActive] = useState(-1)
  const focusNext = useRef<number>()
  const highest = Math.min(Math.ceil(view.top / rowHeight), Math.max(end - 1, 0))
  const current = active >= from && active < to ? active : highest
  useEffect(() => {
    if (focusNext.current === undefined) return
    const link = scroller.current?.querySelector<HTMLElement>(`[aria-rowindex="${focusNext.current + 2}"] a`)
    if (link) focusNext.current = undefined
    link?.focus({ preventScroll: true })
  })
  const onKeyDown = (event: KeyboardEvent) => {
    const box = scroller.current
    if (!box || !(event.target instanceof Element)) return
    const pageSize = Math.max(1, Math.floor(view.height / rowHeight) - 2)
    const steps = new Map([
      ['ArrowDown', 1],
      ['ArrowUp', -1],
      ['PageDown', pageSize],
      ['PageUp', -pageSize],
      ['Home', -count],
      ['End', end],
    ])
    const step = steps.get(event.key)
    const isRow = event.target === box || event.target.closest('[role=row] a')
    if (step === undefined || !isRow) return
    event.preventDefault()
    const at = Math.min(Math.max(current + step, 0), end - 1)
    // The header covers one row.
    const lowest = (at + 2) * rowHeight - box.clientHeight
    box.scrollTop = Math.max(lowest, Math.min(at * rowHeight, box.scrollTop))
    // The row with the focus may be removed before the next one is rendered.
    box.focus({ preventScroll: true })
    focusNext.current = at
    measure()
    setActive(at)
  }
  return { current, onKeyDown }
}

interface HeadingProps<Row extends Node> {
  readonly column: Column<Row>
  readonly order: Order | undefined
  readonly onOrder: TableProps<Row>['onOrder']
}

function Heading<Row extends Node>({ column: { title, order: field, place }, order, onOrder }: HeadingProps<Row>) {
  if (!field) return html`<div role="columnheader" class=${place}>${title}</div>`
  const direction = order?.field === field ? order.direction : undefined
  const [sort, arrow] = direction
    ? ({ ASC: ['ascending', '↑'], DESC: ['descending', '↓'] } as const)[direction]
    : ['none']
  const next = direction === 'DESC' || (!direction && field === 'NAME') ? 'ASC' : 'DESC'
  return html`
    <div role="columnheader" class=${place} aria-sort=${sort}>
      <button type="button" class="bare" onClick=${() => onOrder?.({ order: field, direction: next })}>${title} ${arrow}</button>
    </div>
  `
}

interface TableRowProps<Row extends Node> {
  readonly at: number
  /** Undefined until it is loaded. */
  readonly node: Row | undefined
  readonly columns: readonly Column<Row>[]
  readonly page: string | undefined
  readonly rowHeight: number
  readonly isSelected: boolean
  readonly isTabStop: boolean
}

function TableRow<Row extends Node>(props: TableRowProps<Row>) {
  const { at, node, columns, page, rowHeight, isSelected, isTabStop } = props
  const contentOf = ({ cell }: Column<Row>, index: number) => {
    if (!node) return html`<i class="pulse"></i>`
    if (index > 0 || !page) return cell(node)
    return html`<a href=${hrefOf(page, node.id)} tabindex=${isTabStop ? 0 : -1} aria-current=${isSelected}>${cell(node)}</a>`
  }
  const style = { transform: `translateY(${at * rowHeight}px)` }
  return html`
    <div role="row" class="row ${isSelected ? 'selected' : ''}" aria-rowindex=${at + 2} aria-hidden=${!node} style=${style}>
      ${columns.map((each, index) => html`<div role="cell" class=${each.place}>${contentOf(each, index)}</div>`)}
    </div>
  `
}
