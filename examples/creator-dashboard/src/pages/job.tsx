import { useState } from 'react'
import { type CombinedError, useMutation, useQuery } from 'urql'
import {
  CancelJobDocument,
  FollowJobDocument,
  type FollowJobQuery,
  RetryJobDocument,
} from '../__generated__/graphql.ts'
import { Live, Status } from '../parts/badges.tsx'
import { dateAndTime } from '../parts/format.ts'
import { outcomeOf } from '../parts/job-outcome.ts'
import { Link } from '../parts/link.tsx'
import { Loading, messageOf, Problem } from '../parts/notices.tsx'

type Job = NonNullable<FollowJobQuery['job']>

/** One job, live, with what staff can do about it. */
export function JobPage({ id }: { readonly id: string }) {
  const [{ data, error }] = useQuery({ query: FollowJobDocument, variables: { id } })
  const job = data?.job
  return (
    <>
      <title>Job · Creator dashboard</title>
      <p>
        <Link to="/jobs">All jobs</Link>
      </p>
      <div className="heading">
        <h1>{job?.jobType ?? 'Job'}</h1>
        {job && <Live error={error} />}
      </div>
      {error && !data && <Problem title="The job cannot be shown" message={messageOf(error)} />}
      {!data && !error && <Loading>Loading the job</Loading>}
      {data && !job && <p className="empty">There is no job {id}. Finished jobs are removed after a time.</p>}
      {job && <Details job={job} />}
      {job && <Actions job={job} />}
    </>
  )
}

function Details({ job }: { readonly job: Job }) {
  const { id, status, progress, attempts, maxAttempts, createdAt, runAt, startedAt, finishedAt, payload, result } = job
  const facts = {
    Id: id,
    Attempts: maxAttempts === null ? attempts : `${attempts} of ${maxAttempts}`,
    Created: dateAndTime(createdAt),
    ...(status === 'PENDING' && runAt && { Due: dateAndTime(runAt) }),
    ...(startedAt && { Started: dateAndTime(startedAt) }),
    ...(finishedAt && { Finished: dateAndTime(finishedAt) }),
  }
  return (
    <section className="card" aria-label="The job">
      <header>
        <Status status={status} />
      </header>
      <p>{outcomeOf(job)}</p>
      {status === 'RUNNING' && <progress value={progress ?? 0} aria-label="Progress" />}
      <dl className="facts">
        {Object.entries(facts).map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Json title="Input" value={payload} />
      <Json title="Result" value={result} />
    </section>
  )
}

function Json({ title, value }: { readonly title: string; readonly value: unknown }) {
  if (!value) return null
  return (
    <>
      <h2>{title}</h2>
      <pre>{JSON.stringify(value, null, 2)}</pre>
    </>
  )
}

function Actions({ job: { id, status } }: { readonly job: Job }) {
  const [retrying, retry] = useMutation(RetryJobDocument)
  const [cancelling, cancel] = useMutation(CancelJobDocument)
  const [problem, setProblem] = useState<string>()
  const isBusy = retrying.fetching || cancelling.fetching

  function show(error: CombinedError | undefined, userErrors: readonly { readonly message: string }[] = []) {
    setProblem(error ? messageOf(error) : userErrors[0]?.message)
  }

  return (
    <div className="actions">
      {['FAILED', 'CANCELLED'].includes(status) && (
        <button
          type="button"
          className="primary"
          disabled={isBusy}
          onClick={() => retry({ id }).then(({ data, error }) => show(error, data?.retryJob.userErrors))}
        >
          Retry
        </button>
      )}
      {['PENDING', 'RUNNING'].includes(status) && (
        <button
          type="button"
          disabled={isBusy}
          onClick={() => cancel({ id }).then(({ data, error }) => show(error, data?.cancelJob.userErrors))}
        >
          Cancel the job
        </button>
      )}
      {problem && <Problem title="The job was not changed" message={problem} />}
    </div>
  )
}
