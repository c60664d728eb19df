import { formatCompact, formatEnum, formatNumber } from './format.ts'
import { type Option, Select, Tabs } from './forms.ts'
import { h, html } from './html.ts'
import { ListPage } from './list.ts'
import { type UsageQuery, usageQuery } from './operations.generated.ts'
import type { Node, Rows } from './pages.ts'
import { useQuery } from './query.ts'
import { oneOf, setParams, useRoute } from './router.ts'
import { type Column, column, timeOf } from './table.ts'
import { Empty } from './ui.ts'

type Usage = NonNullable<UsageQuery['usage']>
type OperationRow = Usage['operations'][number] & Node
type FieldRow = Usage['fields'][number] & Node

/** A column with a number. */
const count = <Field extends string>(title: string, field: Field, place?: string) =>
  column<{ readonly [Key in Field]: number }>(title, '5.5rem', (row) => formatNumber(row[field]), place)
const lastUsed = column('Last used', '8rem', timeOf('lastUsedAt'), 'meta-end')
const requests = count('Requests', 'requests', 'end')

const clientOf = ({ clientName, clientVersion }: OperationRow) =>
  [clientName ?? 'Unnamed', clientVersion].filter(Boolean).join(' ')

const operationColumns: readonly Column<OperationRow>[] = [
  column('Operation', 'minmax(10rem, 2fr)', ({ operationName }) => operationName ?? 'Anonymous', 'title'),
  column('Client', 'minmax(7rem, 1.5fr)', clientOf, 'meta'),
  column('Key', 'minmax(7rem, 1.5fr)', ({ keyName }) => keyName ?? 'Removed key'),
  requests,
  count('Errors', 'errors'),
  count('Points', 'points'),
  column('p50, p95', '7rem', ({ p50, p95 }) => `${Math.round(p50)}, ${Math.round(p95)} ms`),
  lastUsed,
]

const fieldColumns: readonly Column<FieldRow>[] = [
  column('Field', 'minmax(12rem, 2fr)', ({ field }) => html`<code>${field}</code>`, 'title'),
  requests,
  lastUsed,
  column('Deprecated', 'minmax(10rem, 3fr)', ({ deprecationReason }) => deprecationReason, 'meta'),
]

const ranges: readonly Option[] = [
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
  ['90', 'Last 90 days'],
]
const views: readonly Option[] = [
  ['operations', 'Operations'],
  ['fields', 'Fields'],
  ['deprecated', 'Deprecated fields'],
]
const chosenOf = (options: readonly Option[], text: string | undefined) =>
  oneOf(
    options.map(([value]) => String(value)),
    text,
  )
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10)

export function UsagePage() {
  const { params } = useRoute()
  const days = chosenOf(ranges, params['days']) ?? '30'
  const view = chosenOf(views, params['view']) ?? 'operations'
  const first = Date.now() - (Number(days) - 1) * 86_400_000
  const { data, failure, reload } = useQuery(usageQuery, { from: dayOf(first) })
  const usage = data?.usage
  if (failure && /Cannot query field "usage"/.test(failure.message)) {
    const help = html`Its schema has no field <code>usage</code>. A newer version has it.`
    return [html`<h1 class="hidden">Usage</h1>`, h(Empty, { title: 'This gateway does not count usage' }, help)]
  }
  const pagesOf = <Row extends object>(rows: readonly Row[] | undefined): Rows<Row & Node> => ({
    nodes: rows?.map((row, at) => ({ ...row, id: String(at) })) ?? [],
    offset: 0,
    key: view,
    failure,
    hasMore: !rows,
    isLoading: !rows,
    reload,
  })
  const page = {
    title: 'Usage',
    actions: h(Select, {
      label: 'Days',
      value: days,
      options: ranges,
      onChange: (value) => setParams({ days: value }),
    }),
    filters: html`
      ${usage && h(Summary, { usage, days: Number(days), first })}
      ${h(Tabs, { label: 'View', options: views, value: view, onChange: (value) => setParams({ view: value }) })}
    `,
    help: view === 'deprecated' ? 'No field is deprecated.' : 'Requests are counted every minute.',
  }
  if (view === 'operations')
    return h(ListPage<OperationRow>, { ...page, columns: operationColumns, pages: pagesOf(usage?.operations) })
  const fields = usage?.fields.filter(({ deprecationReason }) => view === 'fields' || deprecationReason)
  return h(ListPage<FieldRow>, { ...page, columns: fieldColumns, pages: pagesOf(fields) })
}

interface SummaryProps {
  readonly usage: Usage
  readonly days: number
  /** The first day, in milliseconds. */
  readonly first: number
}

function Summary({ usage: { operations, nodes, pageInfo }, days, first }: SummaryProps) {
  const sum = (field: 'requests' | 'errors' | 'points') => operations.reduce((total, row) => total + row[field], 0)
  return html`
    <div class="line tiles">
      ${(['requests', 'errors', 'points'] as const).map((field) => html`<div class="stack tight box"><small>${formatEnum(field.toUpperCase())}</small><strong>${formatCompact(sum(field))}</strong></div>`)}
      ${!pageInfo.hasNextPage && h(Chart, { nodes, days, first })}
    </div>
  `
}

interface ChartProps extends Omit<SummaryProps, 'usage'> {
  readonly nodes: Usage['nodes']
}

function Chart({ nodes, days, first }: ChartProps) {
  const counts = new Map<string, number>()
  for (const { day, requests: added } of nodes) counts.set(day, (counts.get(day) ?? 0) + added)
  const most = Math.max(1, ...counts.values())
  const bars = Array.from({ length: days }, (_, at) => {
    const day = dayOf(first + at * 86_400_000)
    const sum = counts.get(day) ?? 0
    const height = Math.max(1, (sum / most) * 58)
    return html`<rect x=${at * 10 + 1} y=${60 - height} width="8" height=${height}><title>${day}: ${formatNumber(sum)}</title></rect>`
  })
  return html`
    <svg class="chart box" viewBox="0 0 ${days * 10} 60" preserveAspectRatio="none" role="img" aria-label="Requests per day">${bars}</svg>
  `
}
