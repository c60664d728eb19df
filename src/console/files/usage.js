import { useQuery } from './client.js'
import { formatCompact, formatEnum, formatNumber } from './format.js'
import { html } from './html.js'
import { column, ListPage, timeOf } from './list.js'
import { setParams, useRoute } from './router.js'
import { Empty, Select, Tabs } from './ui.js'

const usageQuery = `query Usage($from: Date) {
  usage(from: $from, first: 500) {
    nodes { day requests errors }
    pageInfo { hasNextPage }
    operations {
      keyName clientName clientVersion operationName operationHash
      requests errors points p50 p95 lastUsedAt
    }
    fields { field requests lastUsedAt deprecationReason }
  }
}`

const number = (title, field, narrow) => column(title, '6.5rem', (row) => formatNumber(row[field]), narrow)
const lastUsed = column('Last used', '9rem', timeOf('lastUsedAt'), 'meta-end')
const requests = number('Requests', 'requests', 'end')
const clientOf = ({ clientName, clientVersion }) => [clientName ?? 'Unnamed', clientVersion].filter(Boolean).join(' ')

const operationColumns = [
  column('Operation', 'minmax(10rem, 2fr)', ({ operationName }) => operationName ?? 'Anonymous', 'title'),
  column('Client', 'minmax(8rem, 1.5fr)', clientOf, 'meta'),
  column('Key', 'minmax(8rem, 1.5fr)', ({ keyName }) => keyName ?? 'Removed key'),
  requests,
  number('Errors', 'errors'),
  number('Points', 'points'),
  column('p50, p95', '8rem', ({ p50, p95 }) => `${Math.round(p50)}, ${Math.round(p95)} ms`),
  lastUsed,
]

const fieldColumns = [
  column('Field', 'minmax(12rem, 2fr)', ({ field }) => html`<code>${field}</code>`, 'title'),
  requests,
  lastUsed,
  column('Deprecated', 'minmax(10rem, 3fr)', ({ deprecationReason }) => deprecationReason, 'meta'),
]

const ranges = { 7: 'Last 7 days', 30: 'Last 30 days', 90: 'Last 90 days' }
const views = { operations: 'Operations', fields: 'Fields', deprecated: 'Deprecated fields' }
const dayOf = (time) => new Date(time).toISOString().slice(0, 10)

export function UsagePage() {
  const { params } = useRoute()
  const days = Number(ranges[params.days] ? params.days : 30)
  const view = views[params.view] ? params.view : 'operations'
  const first = Date.now() - (days - 1) * 86_400_000
  const { data, failure, reload } = useQuery(usageQuery, { from: dayOf(first) })
  const usage = data?.usage
  if (/Cannot query field "usage"/.test(failure?.message)) {
    return html`<h1 class="hidden">Usage</h1><${Empty} title="This gateway does not count usage">Its schema has no field <code>usage</code>. A newer version has it.<//>`
  }
  const deprecated = usage?.fields.filter(({ deprecationReason }) => deprecationReason)
  const rows = { ...usage, deprecated }[view]
  // What the table needs of a list that is loaded page by page.
  const nodes = rows?.map((row, id) => ({ ...row, id })) ?? []
  const pages = { nodes, failure, hasMore: !rows, isLoading: !rows, load: reload }
  const filters = html`
    ${usage && html`<${Summary} ...${usage} days=${days} first=${first} />`}
    <${Tabs} label="View" options=${Object.entries(views)} value=${view} onChange=${(value) => setParams({ view: value })} />
  `
  return html`
    <${ListPage}
      title="Usage"
      columns=${view === 'operations' ? operationColumns : fieldColumns}
      ...${{ pages, filters }}
      actions=${html`<${Select} label="Days" value=${days} options=${Object.entries(ranges)} onChange=${(value) => setParams({ days: value })} />`}
      help=${view === 'deprecated' ? 'No field is deprecated.' : 'Requests are counted every minute.'}
    />
  `
}

function Summary({ operations, nodes, pageInfo, days, first }) {
  const sum = (field) => operations.reduce((total, row) => total + row[field], 0)
  return html`
    <div class="line tiles">
      ${['requests', 'errors', 'points'].map((field) => html`<div class="stack tight box"><small>${formatEnum(field.toUpperCase())}</small><strong>${formatCompact(sum(field))}</strong></div>`)}
      ${!pageInfo.hasNextPage && html`<${Chart} ...${{ nodes, days, first }} />`}
    </div>
  `
}

function Chart({ nodes, days, first }) {
  const counts = new Map()
  for (const { day, requests: count } of nodes) counts.set(day, (counts.get(day) ?? 0) + count)
  const most = Math.max(1, ...counts.values())
  const bars = Array.from({ length: days }, (_, at) => {
    const day = dayOf(first + at * 86_400_000)
    const count = counts.get(day) ?? 0
    const height = Math.max(1, (count / most) * 58)
    return html`<rect x=${at * 10 + 1} y=${60 - height} width="8" height=${height}><title>${day}: ${formatNumber(count)}</title></rect>`
  })
  return html`
    <svg class="chart box" viewBox="0 0 ${days * 10} 60" preserveAspectRatio="none" role="img" aria-label="Requests per day">${bars}</svg>
  `
}
