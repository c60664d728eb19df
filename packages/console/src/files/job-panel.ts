import { useState } from 'preact/hooks'
import { mutate } from './client.ts'
import { type Failure, failureOf } from './failure.ts'
import { formatEnum } from './format.ts'
import { h, html } from './html.ts'
import { actionOf, attemptsOf, durationOf, type JobAction, nameOf } from './job-states.ts'
import {
  cancelJobMutation,
  type JobDetailsFragment,
  type JobQuery,
  jobQuery,
  retryJobMutation,
} from './operations.generated.ts'
import { Panel } from './panel.ts'
import { useQuery } from './query.ts'
import { can } from './session.ts'
import { Code, Facts, Problem, type Step, Time, Timeline } from './ui.ts'

export function JobPanel({ id }: { readonly id: string }) {
  const query = useQuery(jobQuery, { id, events: can('events:read') })
  const [problem, setProblem] = useState<Failure>()
  const job = query.data?.job
  const action = job ? actionOf[job.status] : undefined
  const act = async () => {
    setProblem(undefined)
    const changing = action === 'cancel' ? mutate(cancelJobMutation, { id }) : mutate(retryJobMutation, { id })
    await changing.catch((error: unknown) => setProblem(failureOf(error)))
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
    body: (shown) => h(Details, { job: shown, events: query.data?.events?.nodes }),
  })
}

interface DetailsProps {
  readonly job: JobDetailsFragment
  /** Its last events. Undefined if the key may not read them. */
  readonly events: NonNullable<JobQuery['events']>['nodes'] | undefined
}

function Details({ job, events }: DetailsProps) {
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
    ${h(Timeline, { steps: stepsOf(job, events) })}
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

/** The steps of a job: its events, or if the log has none any more, its times. */
function stepsOf(
  { createdAt, startedAt, finishedAt, status, runAt }: JobDetailsFragment,
  events: DetailsProps['events'] = [],
): Step[] {
  const steps = events.map(({ type, createdAt: at, keyId }) => stepOf(type.slice('JOB_'.length), at, keyId))
  if (steps.length === 0) {
    steps.push(stepOf('CREATED', createdAt))
    if (startedAt) steps.push(stepOf('STARTED', startedAt))
    if (finishedAt) steps.push(stepOf(status, finishedAt))
  }
  if (status === 'PENDING' && runAt && Date.parse(runAt) > Date.now()) steps.push(stepOf('NEXT_ATTEMPT', runAt))
  return steps
}
