import type { ChangeFragment } from '../__generated__/graphql.ts'
import type { useActivity } from '../client/use-activity.ts'
import { Live } from './badges.tsx'
import { dateAndTime, words } from './format.ts'
import { Loading, messageOf, Problem } from './notices.tsx'

/** The last changes of the tenant, live. */
export function Activity({ data, error }: ReturnType<typeof useActivity>) {
  return (
    <section className="panel" aria-labelledby="activity">
      <div className="heading">
        <h2 id="activity">Activity</h2>
        {data && <Live error={error} />}
      </div>
      {error && !data && <Problem title="The changes cannot be followed" message={messageOf(error)} />}
      {!data && !error && <Loading>Loading the changes</Loading>}
      {data?.changes.length === 0 && <p className="footnote">Nothing has changed yet.</p>}
      <ol className="activity">
        {data?.changes.map((change) => (
          <li key={change.id}>
            <span>{words(change.type)}</span>
            <strong>{nameOf(change)}</strong>
            <time dateTime={change.createdAt}>{dateAndTime(change.createdAt)}</time>
          </li>
        ))}
      </ol>
    </section>
  )
}

/** The name of what has changed, or its id once it is deleted. */
function nameOf({ node, resourceId }: ChangeFragment): string {
  if (node?.__typename === 'User') return node.name
  if (node?.__typename === 'Account') return node.accountName
  if (node?.__typename === 'Profile') return node.username ?? resourceId
  if (node?.__typename === 'Job') return node.jobType ?? resourceId
  return resourceId
}
