import type { JobDetailsFragment as Job } from '../__generated__/graphql.ts'

const outcomes: Readonly<Record<Job['status'], (job: Job) => string>> = {
  PENDING: () => 'Waits for a worker',
  RUNNING: ({ progressMessage }) => progressMessage ?? 'A worker runs it',
  SUCCEEDED({ result }) {
    const { contentIds = [] } = (result ?? {}) as { contentIds?: unknown[] }
    return `${contentIds.length} ${contentIds.length === 1 ? 'item' : 'items'} found`
  },
  FAILED: ({ error }) => (error ? `${error.message} (${error.code})` : 'No attempt is left'),
  CANCELLED: () => 'Cancelled',
}

/** What a job has done or waits for, in one line. */
export const outcomeOf = (job: Job) => outcomes[job.status](job)
