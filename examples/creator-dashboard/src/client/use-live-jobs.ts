import { useEffect, useState } from 'react'
import { type CombinedError, useClient } from 'urql'
import { type JobDetailsFragment, LatestJobsDocument } from '../__generated__/graphql.ts'

export type Job = JobDetailsFragment

export interface LiveJobs {
  /** The newest jobs, newest first. */
  readonly jobs?: readonly Job[]
  /** Whether changes arrive. */
  readonly isLive: boolean
  readonly error?: CombinedError
}

const shown = 8
const reconnectMilliseconds = 2_000

/**
 * Follows the tenant's jobs. urql does not open a stream again after it has ended: the gateway completes it when it stops, and a
 * connection can break. A new stream begins with the present state, so no change is missed.
 */
export function useLiveJobs(): LiveJobs {
  const client = useClient()
  const [state, setState] = useState<LiveJobs>({ isLive: true })
  useEffect(() => {
    let stop = () => {}
    function connect() {
      const { unsubscribe } = client.subscription(LatestJobsDocument, {}).subscribe(({ data, error, hasNext }) => {
        setState(({ jobs }) => ({ jobs: data ? merge(jobs ?? [], data.jobs) : jobs, error, isLive: hasNext }))
        if (hasNext) return
        const timer = setTimeout(connect, reconnectMilliseconds)
        stop = () => clearTimeout(timer)
      })
      stop = unsubscribe
    }
    connect()
    return () => stop()
  }, [client])
  return state
}

/** The newest jobs, with those that have changed replaced. */
function merge(before: readonly Job[], changed: readonly Job[]): Job[] {
  const byId = new Map([...before, ...changed].map((job) => [job.id, job]))
  return [...byId.values()].sort((one, other) => other.createdAt.localeCompare(one.createdAt)).slice(0, shown)
}
