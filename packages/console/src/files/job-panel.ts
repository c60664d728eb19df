import { useEffect, useState } from 'preact/hooks'
import { mutate, useQuery } from './client.ts'
import { type Failure, failureOf } from './failure.ts'
import { formatEnum } from './format.ts'
import { h, html } from './html.ts'
import { actionOf, attemptsOf, durationOf, type JobAction, nameOf } from './job-states.ts'
import { useSubscription } from './live.ts'
import {
  cancelJobMutation,
  type EventType,
  type JobDetailsFragment,
  type JobStatus,
  jobHistoryQuery,
  jobProgressSubscription,
  jobQuery,
  retryJobMutation,
} from './operations.generated.ts'
import { Panel } from './panel.ts'
import { can } from './session.ts'
import { Code, Facts, FailureNote, Problem, type Step, Time, Timeline } from './ui.ts'

export function JobPanel({ id }: { readonly id: string }) {
  const query = useQuery(jobQuery, { id })
  const [changed, setChanged] = useState<JobDetailsFragment>()
  const [problem, setProblem] = useState<Failure>()
  const job = changed ?? query.data?.job
  const action = job ? actionOf[job.status] : undefined
  const isUnfinished = action === 'cancel'
  useSubscription(isUnfinished && jobProgressSubscription, { id }, (results) =>
    setChanged(results.at(-1)?.job ?? undefined),
  )
  const act = async () => {
    setProblem(undefined)
    const changing = isUnfinished ? mutate(cancelJobMutation, { id }) : mutate(retryJobMutation, { id })
    await changing.catch((error: unknown) => setProblem(failureOf(error)))
    await query.reload()
    setChanged(undefined)
  }
  const buttonOf = (name: JobAction) => html`<button type="button" onClick=${act}>${nameOf(name)}</button>`
  return h(Panel<JobDetailsFragment>, {
    kind: 'Job',
    title: job?.jobType ?? id,
    page: 'jobs',
    status: job?.status,
    query,
    problem,
    actions: action && can('jobs:write') && buttonOf(action),
    object: job,
    body: (shown) => h(Details, { job: shown }),
  })
}

interface JobProps {
  readonly job: JobDetailsFragment
}

function Details({ job }: JobProps) {
  const { id, status, progress, progressMessage, error, payload, result } = job
  const bar =
    status === 'RUNNING' &&
    progress !== null &&
    html`<label>${progressMessage ?? 'Progress'}<progress value=${progress} max="1"></progress></label>`
  return html`
    ${bar}
    ${h(Facts, {
      entries: [
        ['Id', html`<code>${id}</code>`],
        ['Attempts', attemptsOf(job)],
        ['Duration', durationOf(job)],
      ],
    })}
    ${error && h(Problem, { title: error.code, text: error.message }, `Attempt ${error.attempt}, `, h(Time, { at: error.at }))}
    <h3>Timeline</h3>
    ${can('events:read') ? h(History, { job }) : h(Timeline, { steps: stepsOf(job) })}
    ${h(Code, { title: 'Payload', text: JSON.stringify(payload, null, 2) })}
    ${result && h(Code, { title: 'Result', text: JSON.stringify(result, null, 2) })}
  `
}

const tones = new Map<string, Step['tone']>([
  ['SUCCEEDED', 'good'],
  ['FAILED', 'bad'],
  ['RETRIED', 'warn'],
  ['STARTED', 'busy'],
])
const stepOf = (word: string, at: string, by?: string | null): Step => ({
  title: formatEnum(word),
  at,
  by,
  tone: tones.get(word),
})

/** The steps of a job, from its times. */
function stepsOf({ createdAt, startedAt, finishedAt, status }: JobDetailsFragment): Step[] {
  const steps = [stepOf('CREATED', createdAt)]
  if (startedAt) steps.push(stepOf('STARTED', startedAt))
  if (finishedAt) steps.push(stepOf(status, finishedAt))
  return steps
}

/** The last events that a job in a state can have, besides `JOB_UPDATED`. */
const lastEvents: Readonly<Record<JobStatus, readonly EventType[]>> = {
  PENDING: ['JOB_CREATED', 'JOB_RETRIED'],
  RUNNING: ['JOB_STARTED'],
  SUCCEEDED: ['JOB_SUCCEEDED'],
  FAILED: ['JOB_FAILED'],
  CANCELLED: ['JOB_CANCELLED'],
}

/**
 * The steps of a job, from its events if the log still has them. The log has an event a moment after the change, so it
 * may be asked again.
 */
function History({ job }: JobProps) {
  const { id, status, runAt, updatedAt } = job
  const { data, failure, reload } = useQuery(jobHistoryQuery, { id }, updatedAt)
  const events = data?.events?.nodes ?? []
  const last = events.at(-1)
  const isLate = !(last && lastEvents[status].includes(last.type))
  useEffect(() => {
    if (!data || !isLate || Date.now() - Date.parse(updatedAt) > 60_000) return
    const timer = setTimeout(reload, 500)
    return () => clearTimeout(timer)
  }, [data, isLate])
  if (failure) return h(FailureNote, { failure, onRetry: reload, isSmall: true })
  const steps = events.map(({ type, createdAt, keyId }) => stepOf(type.slice('JOB_'.length), createdAt, keyId))
  const next = status === 'PENDING' && runAt && Date.parse(runAt) > Date.now() ? [stepOf('NEXT_ATTEMPT', runAt)] : []
  return h(Timeline, { steps: (steps.length > 0 ? steps : stepsOf(job)).concat(next) })
}
