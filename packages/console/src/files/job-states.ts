import { formatDuration, formatEnum } from './format.ts'
import type { JobRowFragment, JobStatus } from './operations.generated.ts'

export type JobAction = 'retry' | 'cancel'

/** What can be done with jobs in a state. */
export const actionOf: Readonly<Record<JobStatus, JobAction | undefined>> = {
  PENDING: 'cancel',
  RUNNING: 'cancel',
  SUCCEEDED: undefined,
  FAILED: 'retry',
  CANCELLED: 'retry',
}

export const actions: readonly JobAction[] = ['retry', 'cancel']

/** The states of jobs, in the order in which a job can have them. */
export const statuses = Object.keys(actionOf) as JobStatus[]

/** `retry` ⇒ `Retry` */
export const nameOf = (action: JobAction) => formatEnum(action.toUpperCase())

export const attemptsOf = ({ attempts, maxAttempts }: Pick<JobRowFragment, 'attempts' | 'maxAttempts'>) =>
  `${attempts}${maxAttempts ? ` of ${maxAttempts}` : ''}`

/** How long the last attempt took, or has taken so far. */
export function durationOf(job: Pick<JobRowFragment, 'startedAt' | 'finishedAt' | 'status'>): string {
  const { startedAt, finishedAt, status } = job
  if (!startedAt || !(finishedAt || status === 'RUNNING')) return '–'
  return formatDuration((finishedAt ? Date.parse(finishedAt) : Date.now()) - Date.parse(startedAt))
}
