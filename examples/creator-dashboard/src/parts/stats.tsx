import { useQuery } from 'urql'
import { StatsDocument } from '../__generated__/graphql.ts'
import { Status } from './badges.tsx'
import { wholeNumber, words } from './format.ts'
import { Loading, messageOf, Problem } from './notices.tsx'

/** The numbers of the tenant. */
export function Stats() {
  const [{ data, error }, reload] = useQuery({ query: StatsDocument })
  const stats = data?.tenantStats
  if (!stats && error)
    return <Problem title="The numbers cannot be shown" message={messageOf(error)} onRetry={reload} />
  if (!stats) return <Loading>Counting</Loading>
  const { users, accounts, profiles, accountsByPlatform, jobsByStatus } = stats
  const largest = Math.max(1, ...accountsByPlatform.map(({ count }) => count))
  return (
    <section className="stats" aria-label="Numbers">
      <dl className="panel totals">
        {Object.entries({ Users: users, Accounts: accounts, Profiles: profiles }).map(([label, count]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{wholeNumber(count)}</dd>
          </div>
        ))}
      </dl>
      <div className="panel">
        <h2>Accounts by platform</h2>
        <dl className="bars">
          {accountsByPlatform.map(({ platform, count }) => (
            <div key={platform}>
              <dt>{words(platform)}</dt>
              <dd>
                <span
                  className="bar-line"
                  data-platform={platform}
                  style={{ inlineSize: `${(80 * count) / largest}%` }}
                />
                {wholeNumber(count)}
              </dd>
            </div>
          ))}
        </dl>
      </div>
      <div className="panel">
        <h2>Jobs by status</h2>
        <ul className="counts">
          {jobsByStatus?.map(({ status, count }) => (
            <li key={status}>
              <Status status={status} /> {wholeNumber(count)}
            </li>
          ))}
        </ul>
        {jobsByStatus?.length === 0 && <p className="footnote">No jobs yet.</p>}
      </div>
    </section>
  )
}
