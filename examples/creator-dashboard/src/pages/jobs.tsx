import { createAction } from '@fusion-gateway/client'
import { type FormEvent, useMemo, useState } from 'react'
import { useMutation, useQuery } from 'urql'
import { FetchFeedDocument, type JobDetailsFragment, LatestJobsDocument } from '../__generated__/graphql.ts'
import { Live, Status } from '../parts/badges.tsx'
import { dateAndTime } from '../parts/format.ts'
import { outcomeOf } from '../parts/job-outcome.ts'
import { Link } from '../parts/link.tsx'
import { Empty, Loading, messageOf, Problem } from '../parts/notices.tsx'

/** Starts jobs, and follows the latest ones. */
export function Jobs() {
  const [{ data, error }] = useQuery({ query: LatestJobsDocument })
  const jobs = data?.jobs?.nodes
  return (
    <>
      <title>Jobs · Creator dashboard</title>
      <h1>Jobs</h1>
      <FetchFeed />
      <div className="heading">
        <h2>Latest jobs</h2>
        <Live error={error} />
      </div>
      {error && !jobs && <Problem title="The jobs cannot be followed" message={messageOf(error)} />}
      {!jobs && !error && <Loading>Loading the jobs</Loading>}
      {jobs?.length === 0 && <Empty>There are no jobs yet.</Empty>}
      <ol className="jobs">
        {jobs?.map((job) => (
          <JobCard key={job.id} job={job} />
        ))}
      </ol>
    </>
  )
}

function FetchFeed() {
  const [{ fetching, data, error }, create] = useMutation(FetchFeedDocument)
  const [url, setUrl] = useState(`${location.origin}/feed.xml`)
  const problem = error ? messageOf(error) : data?.createJob.userErrors[0]?.message
  // A second click after a lost response creates no second job.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another feed is another action
  const act = useMemo(createAction, [url])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // The form shows the error of the mutation.
    act((action) => create({ payload: { url } }, { action })).catch(() => undefined)
  }
  return (
    <form className="card fetch-feed" onSubmit={submit}>
      <label className="grow">
        RSS, Atom or JSON feed
        <input type="url" required maxLength={2_000} value={url} onChange={({ target }) => setUrl(target.value)} />
      </label>
      <button type="submit" className="primary" disabled={fetching}>
        Fetch the feed
      </button>
      {problem && <Problem title="The job was not created" message={problem} />}
    </form>
  )
}

function JobCard({ job }: { readonly job: JobDetailsFragment }) {
  const { id, jobType, status, progress, payload, createdAt, finishedAt } = job
  return (
    <li className="card" aria-label={id}>
      <header>
        <Status status={status} />
        <strong>
          <Link to={`/job?id=${encodeURIComponent(id)}`}>{jobType ?? 'Job'}</Link>
        </strong>
        <time dateTime={finishedAt ?? createdAt}>{dateAndTime(finishedAt ?? createdAt)}</time>
      </header>
      <p className="url">{String(payload?.['url'] ?? '')}</p>
      {status === 'RUNNING' && <progress value={progress ?? 0} aria-label="Progress" />}
      <p>{outcomeOf(job)}</p>
    </li>
  )
}
