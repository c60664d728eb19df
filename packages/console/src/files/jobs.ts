import type { TargetedEvent } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { formatEnum, formatNumber } from './format.ts'
import { type Option, Select, Tabs } from './forms.ts'
import { h, html } from './html.ts'
import { BulkDialog } from './job-bulk.ts'
import { JobPanel } from './job-panel.ts'
import { actionOf, actions, attemptsOf, durationOf, type JobAction, nameOf, statuses } from './job-states.ts'
import { LastDay } from './last-day.ts'
import { ListPage } from './list.ts'
import {
  type JobFilter,
  type JobRowFragment,
  type JobsQuery,
  jobsQuery,
  orderDirections,
} from './operations.generated.ts'
import { usePages } from './pages.ts'
import { oneOf, type Params, root, setParams, useRoute } from './router.ts'
import { can } from './session.ts'
import { type Column, column, timeOf } from './table.ts'
import { Badge } from './ui.ts'

const periods: readonly Option[] = [
  ['', 'Any time'],
  ['1', 'Last hour'],
  ['24', 'Last 24 hours'],
  ['168', 'Last 7 days'],
]

const errorOf = ({ error }: JobRowFragment) =>
  error && html`<span class="soft" title=${error.message}>${error.message}</span>`

const columns: readonly Column<JobRowFragment>[] = [
  column('Type', 'minmax(10rem, 2fr)', ({ jobType }) => jobType ?? 'Imported job', 'title'),
  column('Status', '8rem', ({ status }) => h(Badge, { status }), 'end'),
  column('Attempts', '5rem', attemptsOf),
  column('Created', '8rem', timeOf('createdAt'), 'meta', 'CREATED_AT'),
  column('Duration', '7rem', durationOf, 'meta-end'),
  column('Error', 'minmax(10rem, 3fr)', errorOf),
  column('Id', 'minmax(8rem, 1fr)', ({ id }) => html`<code class="soft">${id}</code>`),
]

function filterOf({ status, type, hours }: Params): JobFilter {
  const known = oneOf(statuses, status)
  const isPeriod = hours && periods.some(([value]) => value === hours)
  return {
    ...(known && { status: known }),
    ...(type && { jobType: type }),
    ...(isPeriod && { createdAfter: new Date(Date.now() - Number(hours) * 3_600_000).toISOString() }),
  }
}

export function JobsPage() {
  const { id, params } = useRoute()
  const { status = '', type = '', hours = '' } = params
  const order = { field: 'CREATED_AT', direction: oneOf(orderDirections, params['direction']) ?? 'DESC' } as const
  // The beginning of a period stays until another filter is chosen.
  const filter = useMemo(() => filterOf(params), [status, type, hours])
  const pages = usePages({
    query: jobsQuery,
    variables: { filter, orderBy: order },
    connectionOf: ({ jobs }) => jobs,
  })
  const [bulk, setBulk] = useState<JobAction>()

  const possible = actions.filter((action) => !filter.status || actionOf[filter.status] === action)
  const buttonOf = (action: JobAction) =>
    html`<button type="button" onClick=${() => setBulk(action)}>${nameOf(action)} jobs…</button>`
  const list = h(ListPage<JobRowFragment>, {
    title: 'Jobs',
    word: 'job',
    page: 'jobs',
    columns,
    pages,
    order,
    selected: id,
    isFiltered: Object.keys(filter).length > 0,
    actions: can('jobs:write') && possible.map(buttonOf),
    filters: h(Filters, { status, type, hours, stats: pages.data?.jobStats, jobs: pages.nodes }),
    onOrder: setParams,
    onReset: () => setParams({ status: '', type: '', hours: '' }),
    help: html`The mutation <code>createJob</code> creates a job. The <a href=${`${root}guides/jobs`}>guide</a> shows how to run it.`,
    panel: id && h(JobPanel, { key: id, id }),
  })
  return [list, bulk && h(BulkDialog, { action: bulk, filter, onClose: () => setBulk(undefined) })]
}

interface FiltersProps {
  readonly status: string
  readonly type: string
  readonly hours: string
  /** How many jobs have each state, when it is known. */
  readonly stats: JobsQuery['jobStats'] | undefined
  readonly jobs: readonly JobRowFragment[]
}

function Filters({ status, type, hours, stats, jobs }: FiltersProps) {
  const counts = new Map(stats?.groups.map((each) => [each.status, each.count]))
  const labelOf = (name: string, count: number | undefined) =>
    html`${name}${count !== undefined && html` <span class="soft">${formatNumber(count)}</span>`}`
  const all: Option = ['', 'All']
  const options = statuses.map(
    (each): Option => [each, labelOf(formatEnum(each), stats ? (counts.get(each) ?? 0) : undefined)],
  )
  const types = new Set(jobs.slice(0, 500).map(({ jobType }) => jobType ?? ''))
  const setType = ({ currentTarget }: TargetedEvent<HTMLInputElement>) =>
    setParams({ type: currentTarget.value.trim() })
  return html`
    ${h(LastDay, {})}
    ${h(Tabs, {
      label: 'Status',
      value: status,
      options: [all].concat(options),
      onChange: (value) => setParams({ status: value }),
    })}
    <form class="line" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
      <label><span class="hidden">Type</span>
        <input placeholder="Type of job" list="types" value=${type} onChange=${setType} />
      </label>
      <datalist id="types">${[...types].map((each) => html`<option value=${each}></option>`)}</datalist>
      ${h(Select, { label: 'Created', value: hours, options: periods, onChange: (value) => setParams({ hours: value }) })}
    </form>
  `
}
