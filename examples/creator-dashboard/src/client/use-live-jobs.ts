import { type JobDetailsFragment, LatestJobsDocument, type LatestJobsSubscription } from '../__generated__/graphql.ts'
import { type Stream, useStream } from './use-stream.ts'

export type Job = JobDetailsFragment

const shown = 8
const options = { variables: {}, merge }

/** Follows the tenant's newest jobs, newest first. */
export function useLiveJobs(): Stream<readonly Job[]> {
  return useStream(LatestJobsDocument, options)
}

/** The newest jobs, with those that have changed replaced. */
function merge({ jobs }: LatestJobsSubscription, before: readonly Job[] = []): readonly Job[] {
  const byId = new Map([...before, ...jobs].map((job) => [job.id, job]))
  return [...byId.values()].sort((one, other) => other.createdAt.localeCompare(one.createdAt)).slice(0, shown)
}
