import { useQuery } from 'urql'
import { MyAccountsDocument, type MyAccountsQuery } from '../__generated__/graphql.ts'
import { withheldFields } from '../client/withheld.ts'
import { Platform, Status } from '../parts/badges.tsx'
import { date } from '../parts/format.ts'
import { Empty, Loading, messageOf, Problem } from '../parts/notices.tsx'
import { ProfileDetails } from '../parts/profile-details.tsx'
import { Legend, MissingFields, Value } from '../parts/value.tsx'

type User = NonNullable<NonNullable<MyAccountsQuery['viewer']>['user']>

/** A creator's own accounts. */
export function MyAccounts() {
  const [{ data, error, fetching }, reload] = useQuery({ query: MyAccountsDocument })
  const user = data?.viewer?.user
  if (fetching && !user) return <Loading>Loading your accounts</Loading>
  if (!user) {
    const message = error ? messageOf(error) : 'This user no longer exists.'
    return <Problem title="Your accounts cannot be shown" message={message} onRetry={reload} />
  }
  return (
    <MissingFields value={{ unsupported: [], withheld: withheldFields(error) }}>
      <title>My accounts · Creator dashboard</title>
      <div className="heading">
        <div>
          <h1>{user.name}</h1>
          <p>
            Email <Value field="email">{user.email}</Value> · Phone <Value field="phone">{user.phone}</Value>
          </p>
        </div>
        <Legend />
      </div>
      {user.accounts.length === 0 && <Empty>You have not connected an account yet.</Empty>}
      <div className="cards">
        {user.accounts.map((account) => (
          <AccountCard key={account.id} account={account} />
        ))}
      </div>
    </MissingFields>
  )
}

const advice: Readonly<Record<string, string>> = {
  EXPIRED: 'The permission has expired. Connect the account again.',
  DISCONNECTED: 'The permission was withdrawn. The numbers are those of the last synchronization.',
}

function AccountCard({ account }: { readonly account: User['accounts'][number] }) {
  const { id, platform, displayName, status, profile, createdAt } = account
  return (
    <article className="card" aria-labelledby={id}>
      <header>
        <Platform platform={platform} />
        <Status status={status} />
      </header>
      <h2 id={id}>{profile?.displayName ?? displayName}</h2>
      <p className="footnote">
        {profile?.username && `@${profile.username} · `}
        {profile?.verified && 'verified · '}
        connected {date(createdAt)}
      </p>
      {advice[status] && <p className="advice">{advice[status]}</p>}
      {profile ? <ProfileDetails profile={profile} /> : <Empty>The profile was never synchronized.</Empty>}
    </article>
  )
}
