import { useState } from 'preact/hooks'
import { mutate } from './client.ts'
import { formatEnum, plural } from './format.ts'
import { FormDialog } from './forms.ts'
import { h, html } from './html.ts'
import { actionOf, type JobAction, nameOf, statuses } from './job-states.ts'
import { cancelJobsMutation, type JobFilter, matchingJobsQuery, retryJobsMutation } from './operations.generated.ts'
import { useQuery } from './query.ts'
import { FailureNote } from './ui.ts'

interface Progress {
  readonly count: number
  /** Unknown before the first change. */
  readonly left?: number | undefined
}

/** Changes up to 1,000 of the jobs that a filter selects. */
const change: Readonly<Record<JobAction, (filter: JobFilter) => Promise<Progress>>> = {
  async retry(filter) {
    const { retriedCount, remainingCount } = await mutate(retryJobsMutation, { filter })
    return { count: retriedCount ?? 0, left: remainingCount ?? 0 }
  },
  async cancel(filter) {
    const { cancelledCount, remainingCount } = await mutate(cancelJobsMutation, { filter })
    return { count: cancelledCount ?? 0, left: remainingCount ?? 0 }
  },
}

interface BulkDialogProps {
  readonly action: JobAction
  readonly filter: JobFilter
  readonly onClose: () => void
}

/** Changes the jobs that the filters of the list select, up to 1,000 at a time. */
export function BulkDialog({ action, filter, onClose }: BulkDialogProps) {
  const changeable = statuses.filter((status) => actionOf[status] === action)
  const states = filter.status ? [filter.status] : changeable
  const [one, other] = states.map((status) => ({ ...filter, status }))
  const { data, failure } = useQuery(matchingJobsQuery, { one: one ?? filter, other: other ?? one ?? filter })
  const [done, setDone] = useState<Progress>({ count: 0 })
  const matching = data && (data.one?.totalCount ?? 0) + (other ? (data.other?.totalCount ?? 0) : 0)
  const left = done.left ?? matching
  const submit = async () => {
    const next = await change[action](filter)
    setDone({ count: done.count + next.count, left: next.left })
  }
  return h(
    FormDialog,
    { title: `${nameOf(action)} jobs`, onClose, onSubmit: submit, isDangerous: action === 'cancel', isDone: !left },
    html`
      <p>Changes the jobs of the list that are ${states.map(formatEnum).join(' or ').toLowerCase()}, the oldest 1,000 at a time.</p>
      ${failure && h(FailureNote, { failure, isSmall: true })}
      <p role="status">
        ${done.count > 0 && html`<strong>${plural(done.count, 'job')}</strong> changed. `}
        ${left !== undefined && html`<strong>${plural(left, 'job')}</strong> ${done.count > 0 ? 'left.' : 'will be changed.'}`}
      </p>
    `,
  )
}
