import type { ComponentChildren } from 'preact'
import { plural } from './format.ts'
import { h, html } from './html.ts'
import type { Node } from './pages.ts'
import { Table, type TableProps } from './table.ts'
import { Empty, Live } from './ui.ts'

interface ListPageProps<Row extends Node> extends TableProps<Row> {
  readonly title: string
  /** What the list has, in the singular, to show how many there are. */
  readonly word?: string
  readonly actions?: ComponentChildren
  readonly filters?: ComponentChildren
  /** Whether filters are chosen; `onReset` removes them. */
  readonly isFiltered?: boolean
  readonly onReset?: () => void
  /** What is shown instead of an empty list. */
  readonly help: ComponentChildren
  readonly panel?: ComponentChildren
}

/** A page with a list, and the selected object beside it. */
export function ListPage<Row extends Node>(props: ListPageProps<Row>) {
  const { title, word, actions, filters, isFiltered, onReset, help, panel, ...table } = props
  const { total, live = 'off' } = table.pages
  const reset = html`<button type="button" onClick=${onReset}>Remove the filters</button>`
  const empty = isFiltered
    ? h(Empty, { title: 'Nothing matches' }, reset)
    : h(Empty, { title: 'Nothing here yet' }, help)
  return html`
    <div class="page">
      <header class="line">
        <h1>${title}</h1>${word && total !== undefined && html`<span class="soft" role="status">${plural(total, word)}</span>`}
        ${h(Live, { state: live })}<span class="push"></span>${actions}
      </header>
      ${filters}
      <div class="split">
        ${h(Table<Row>, { ...table, label: title }, empty)}
        ${panel}
      </div>
    </div>
  `
}
