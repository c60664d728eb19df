import { useEffect, useMemo, useState } from 'preact/hooks'
import { mutate, useQuery } from './client.js'
import { formatDuration, formatEnum, formatNumber, plural } from './format.js'
import { html } from './html.js'
import { column, ListPage, timeOf, usePages } from './list.js'
import { useSubscription } from './live.js'
import { setParams, useRoute } from './router.js'
import { can } from './session.js'
import { Badge, Code, Facts, FailureNote, FormDialog, Panel, Problem, Select, Tabs, Time, Timeline } from './ui.js'

const statuses = ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED']
/** The states in which jobs can be changed. */
const changeable = { retry: ['FAILED', 'CANCELLED'], cancel: ['PENDING', 'RUNNING'] }
const periods = { '': 'Any time', 1: 'Last hour', 24: 'Last 24 hours', 168: 'Last 7 days' }

const rowFields = 'id status jobType attempts maxAttempts createdAt startedAt finishedAt error { message }'

const listQuery = `query Jobs($first: Int, $after: String, $filter: JobFilter, $orderBy: JobOrder, $isFirst: Boolean!) {
  jobs(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
    nodes { ${rowFields} }
    pageInfo { hasNextPage endCursor }
    totalCount @include(if: $isFirst)
  }
}`

const changesQuery = `subscription JobChanges($filter: JobFilter) {
  jobs(first: 20, filter: $filter) { ${rowFields} }
}`

const statsQuery = `query JobStats {
  tenantStats { jobsByStatus { status count } }
}`

const attemptsOf = ({ attempts, maxAttempts }) => `${attempts}${maxAttempts ? ` of ${maxAttempts}` : ''}`
const errorOf = ({ error }) => error && html`<span class="soft" title=${error.message}>${error.message}</span>`

const columns = [
  column('Type', 'minmax(10rem, 2fr)', ({ jobType }) => jobType ?? 'Imported job', 'title'),
  column('Status', '8rem', ({ status }) => html`<${Badge} status=${status} />`, 'end'),
  column('Attempts', '6rem', attemptsOf),
  column('Created', '9rem', timeOf('createdAt'), 'meta', 'CREATED_AT'),
  column('Duration', '7rem', durationOf, 'meta-end'),
  column('Error', 'minmax(10rem, 3fr)', errorOf),
  column('Id', 'minmax(9rem, 1fr)', ({ id }) => html`<code class="soft">${id}</code>`),
]

const wordOf = (kind) => formatEnum(kind.toUpperCase())

/** How long the last attempt took, or has taken so far. */
function durationOf({ startedAt, finishedAt, status }) {
  if (!startedAt || !(finishedAt || status === 'RUNNING')) return '–'
  return formatDuration(new Date(finishedAt ?? Date.now()) - new Date(startedAt))
}

function filterOf({ status, type, hours }) {
  return {
    ...(statuses.includes(status) && { status }),
    ...(type && { jobType: type }),
    ...(periods[hours] && hours && { createdAfter: new Date(Date.now() - hours * 3_600_000).toISOString() }),
  }
}

export function JobsPage() {
  const { id, params } = useRoute()
  const { status = '', type = '', hours = '', direction = 'DESC' } = params
  // The beginning of a period stays until another filter is chosen.
  const filter = useMemo(() => filterOf(params), [status, type, hours])
  const order = { field: 'CREATED_AT', direction }
  const { pages, reload } = usePages(listQuery, { filter, orderBy: order }, 'jobs')
  const [version, setVersion] = useState(0)
  const stats = useQuery(statsQuery, {}, version)
  const [bulk, setBulk] = useState()

  const live = useSubscription(pages.data && changesQuery, { filter }, (results) => {
    const changed = [...new Map(results.flatMap(({ jobs }) => jobs).map((job) => [job.id, job])).values()]
    const others = new Set(changed.filter((job) => status && job.status !== status).map((job) => job.id))
    if (others.size > 0) pages.set(pages.nodes.filter((job) => !others.has(job.id)))
    const newest = pages.nodes[0]?.createdAt ?? ''
    const unknown = pages.patch(changed.filter((job) => !others.has(job.id)))
    // Jobs that are not new are on pages that are not loaded.
    const isNew = ({ createdAt }) => direction === 'DESC' && createdAt >= newest
    const added = unknown.filter(isNew).sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
    if (added.length > 0) pages.set([...added, ...pages.nodes])
    setVersion((count) => count + 1)
  })

  const counts = new Map(stats.data?.tenantStats?.jobsByStatus.map((each) => [each.status, each.count]))
  const countOf = (each) => counts.has(each) && html` <span class="soft">${formatNumber(counts.get(each))}</span>`
  const options = [['', 'All'], ...statuses.map((each) => [each, [formatEnum(each), countOf(each)]])]
  const types = new Set(pages.nodes.slice(0, 500).map(({ jobType }) => jobType ?? ''))
  const filters = html`
    <${Tabs} label="Status" value=${status} options=${options} onChange=${(value) => setParams({ status: value })} />
    <form class="line" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label><span class="hidden">Type</span>
        <input placeholder="Type of job" list="types" value=${type} onChange=${({ target }) => setParams({ type: target.value.trim() })} />
      </label>
      <datalist id="types">${[...types].map((each) => html`<option value=${each}></option>`)}</datalist>
      <${Select} label="Created" value=${hours} options=${Object.entries(periods)} onChange=${(value) => setParams({ hours: value })} />
    </form>
  `
  const kinds = Object.keys(changeable).filter((kind) => !status || changeable[kind].includes(status))
  const buttonOf = (kind) => html`<button type="button" onClick=${() => setBulk(kind)}>${wordOf(kind)} jobs…</button>`
  const actions = can('jobs:write') && kinds.map(buttonOf)
  return html`
    <${ListPage}
      title="Jobs" word="job" page="jobs"
      ...${{ live, actions, filters, columns, pages, order, selected: id, isFiltered: Object.keys(filter).length > 0 }}
      onOrder=${setParams}
      onReset=${() => setParams({ status: '', type: '', hours: '' })}
      help=${html`The mutation <code>createJob</code> creates a job. The <a href="/guides/jobs">guide</a> shows how to run it.`}
      panel=${id && html`<${JobPanel} key=${id} id=${id} />`}
    />
    ${bulk && html`<${BulkDialog} kind=${bulk} filter=${filter} onClose=${() => setBulk()} onDone=${reload} />`}
  `
}

const jobFields = `
    id status jobType attempts maxAttempts progress progressMessage
    payload result error { code message attempt at }
    createdAt runAt startedAt finishedAt updatedAt`

const jobQuery = `query Job($id: ID!) {\n  job(id: $id) {${jobFields}\n  }\n}`
const jobSubscription = jobQuery.replace('query Job', 'subscription JobProgress')

const historyQuery = `query JobHistory($id: ID!) {
  events(last: 50, filter: { resourceId: $id }) { nodes { id type createdAt keyId } }
}`

function JobPanel({ id }) {
  const query = useQuery(jobQuery, { id })
  const [changed, setChanged] = useState()
  const [problem, setProblem] = useState()
  const job = changed ?? query.data?.job
  const isUnfinished = changeable.cancel.includes(job?.status)
  useSubscription(isUnfinished && jobSubscription, { id }, (results) => setChanged(results.at(-1).job ?? undefined))
  const act = async (kind) => {
    setProblem()
    await mutate(`${kind}Job`, 'job { id status }', { id }).catch(setProblem)
    await query.reload()
    setChanged()
  }
  const kinds = Object.keys(changeable).filter((kind) => can('jobs:write') && changeable[kind].includes(job?.status))
  const actions = kinds.map((kind) => html`<button type="button" onClick=${() => act(kind)}>${wordOf(kind)}</button>`)
  const body = () => html`
    ${job.status === 'RUNNING' && job.progress !== null && html`<label>${job.progressMessage ?? 'Progress'}<progress value=${job.progress} max="1"></progress></label>`}
    <${Facts} entries=${[['Id', html`<code>${job.id}</code>`], ['Attempts', attemptsOf(job)], ['Duration', durationOf(job)]]} />
    ${job.error && html`<${Problem} title=${job.error.code} text=${job.error.message}>Attempt ${job.error.attempt}, <${Time} at=${job.error.at} /><//>`}
    <h3>Timeline</h3>
    ${can('events:read') ? html`<${History} job=${job} />` : html`<${Timeline} steps=${stepsOf(job)} />`}
    <${Code} title="Payload" text=${JSON.stringify(job.payload, null, 2)} />
    ${job.result && html`<${Code} title="Result" text=${JSON.stringify(job.result, null, 2)} />`}
  `
  return html`
    <${Panel} kind="Job" title=${job?.jobType ?? id} page="jobs" status=${job?.status} ...${{ query, actions, problem }} object=${job} body=${body} />
  `
}

const tones = { SUCCEEDED: 'good', FAILED: 'bad', RETRIED: 'warn', STARTED: 'busy' }
const stepOf = (word, at, by) => ({ title: formatEnum(word), at, by, tone: tones[word] ?? '' })

/** The steps of a job, from its times. */
const stepsOf = ({ createdAt, startedAt, finishedAt, status }) =>
  [stepOf('CREATED', createdAt), stepOf('STARTED', startedAt), stepOf(status, finishedAt)].filter(({ at }) => at)

/** The last event of a job in a state, if it is not `JOB_` and the state. */
const lastEvents = { PENDING: ['JOB_CREATED', 'JOB_RETRIED'], RUNNING: ['JOB_STARTED'] }

/** The steps of a job, from its events if the log still has them. The log has an event a moment after the change, so it may be asked again. */
function History({ job: { id, status, runAt, updatedAt }, job }) {
  const { data, failure, reload } = useQuery(historyQuery, { id }, updatedAt)
  const events = data?.events.nodes.filter(({ type }) => type !== 'JOB_UPDATED') ?? []
  const isLate = !(lastEvents[status] ?? [`JOB_${status}`]).includes(events.at(-1)?.type)
  useEffect(() => {
    const timer = data && isLate && Date.now() - new Date(updatedAt) < 60_000 && setTimeout(reload, 500)
    return () => clearTimeout(timer)
  }, [data, isLate])
  if (failure) return html`<${FailureNote} failure=${failure} onRetry=${reload} isSmall />`
  const steps = events.map(({ type, createdAt, keyId }) => stepOf(type.slice(4), createdAt, keyId))
  const next = status === 'PENDING' && new Date(runAt) > new Date() ? [stepOf('NEXT_ATTEMPT', runAt)] : []
  return html`<${Timeline} steps=${[...(steps.length > 0 ? steps : stepsOf(job)), ...next]} />`
}

const matchingQuery = `query Matching($one: JobFilter, $other: JobFilter) {
  one: jobs(first: 1, filter: $one) { totalCount }
  other: jobs(first: 1, filter: $other) { totalCount }
}`

/** Changes the jobs that the filters of the list select, up to 1,000 at a time. */
function BulkDialog({ kind, filter, onClose, onDone }) {
  const [one, other] = changeable[kind].map((status) => ({ ...filter, status: filter.status ?? status }))
  const { data, failure } = useQuery(matchingQuery, { one, other })
  const [done, setDone] = useState({ count: 0 })
  const matching = data && data.one.totalCount + (filter.status ? 0 : data.other.totalCount)
  const left = done.remainingCount ?? matching
  const submit = async () => {
    const field = kind === 'retry' ? 'retriedCount' : 'cancelledCount'
    const { count, remainingCount } = await mutate(`${kind}Jobs`, `count: ${field} remainingCount`, { filter })
    setDone({ count: done.count + count, remainingCount })
    onDone()
  }
  const title = `${wordOf(kind)} jobs`
  const states = filter.status ? [filter.status] : changeable[kind]
  return html`
    <${FormDialog} ...${{ title, onClose, onSubmit: submit }} isDangerous=${kind === 'cancel'} isDone=${!left}>
      <p>Changes the jobs of the list that are ${states.map(formatEnum).join(' or ').toLowerCase()}, the oldest 1,000 at a time.</p>
      ${failure && html`<${FailureNote} failure=${failure} isSmall />`}
      <p role="status">
        ${done.count > 0 && html`<strong>${plural(done.count, 'job')}</strong> changed. `}
        ${left !== undefined && html`<strong>${plural(left, 'job')}</strong> ${done.count > 0 ? 'left.' : 'will be changed.'}`}
      </p>
    <//>
  `
}
