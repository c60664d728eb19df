import { Curve } from './charts.ts'
import { formatCompact, formatEnum } from './format.ts'
import { h, html } from './html.ts'
import { type ProfileTimesQuery, profileTimesQuery, type UserQuery, userQuery } from './operations.generated.ts'
import { Panel } from './panel.ts'
import { useQuery } from './query.ts'
import { can } from './session.ts'
import { Badge, Chips, Code, Facts, Time, Timeline } from './ui.ts'

type User = NonNullable<UserQuery['user']>

export function UserPanel({ id }: { readonly id: string }) {
  const [profiles, events] = [can('profiles:read'), can('events:read')]
  const query = useQuery(userQuery, { id, contacts: can('contacts:read'), profiles, events })
  const user = query.data?.user
  // What cannot be live.
  const { data } = useQuery(profiles && profileTimesQuery, { id }, query.data)
  const times = new Map(data?.user?.accounts.map((each) => [each.id, each.profile]))
  const body = (found: User) => html`
    ${h(Facts, {
      entries: [
        ['Id', html`<code>${found.id}</code>`],
        ['Email', found.email && html`<a href="mailto:${found.email}">${found.email}</a>`],
        ['Phone', found.phone],
        ['External id', found.externalId && html`<code>${found.externalId}</code>`],
        ['Created', h(Time, { at: found.createdAt })],
        ['Changed', h(Time, { at: found.updatedAt })],
      ],
    })}
    ${found.metadata && h(Code, { title: 'Metadata', text: JSON.stringify(found.metadata, null, 2) })}
    <h3>Accounts <span class="soft">${found.accounts.length}</span></h3>
    ${found.accounts.map((account) => h(Account, { ...account, key: account.id, times: times.get(account.id) }))}
    ${h(History, { events: query.data?.events?.nodes })}
  `
  return h(Panel<User>, { kind: 'User', title: user?.name ?? id, page: 'users', query, object: user, body })
}

type Times = NonNullable<ProfileTimesQuery['user']>['accounts'][number]['profile']
type AccountProps = User['accounts'][number] & { readonly times: Times | undefined }

function Account({ id, platform, displayName, status, platformAccountId, profile, times }: AccountProps) {
  return html`
    <article class="stack tight box">
      <div class="line"><strong>${displayName}</strong>${h(Chips, { values: [platform] })}<span class="push"></span>${h(Badge, { status })}</div>
      ${
        profile &&
        html`<p class="line">
          <span><b>${formatCompact(profile.followersCount ?? profile.subscribersCount)}</b> followers</span>
          <span><b>${formatCompact(profile.contentsCount)}</b> posts</span>
          ${profile.verified && h(Chips, { values: ['Verified'] })}
        </p>
        ${h(Curve, { label: 'Followers', points: times?.history ?? [] })}`
      }
      ${h(Facts, {
        entries: [
          ['Account', html`<code>${id}</code>`],
          ['On the platform', html`<code>${platformAccountId}</code>`],
          ['User name', profile?.username],
          ['Country', profile?.country],
          ['Emails', profile?.emails?.map(({ value }) => value).join(', ')],
          ['Synchronized', profile ? h(Time, { at: times?.syncedAt ?? null }) : profile === null && 'Never'],
        ],
      })}
    </article>
  `
}

interface HistoryProps {
  /** The last events of the user, and of the accounts and profiles of the user. Undefined if the key may not read them. */
  readonly events: NonNullable<UserQuery['events']>['nodes'] | undefined
}

function History({ events }: HistoryProps) {
  if (!events) return null
  const steps = events
    .map(({ type, createdAt, keyId }) => ({ title: formatEnum(type), at: createdAt, by: keyId }))
    .toReversed()
  return html`
    <h3>Events</h3>
    ${steps.length === 0 && html`<p class="soft">The log has none.</p>`}
    ${h(Timeline, { steps })}
  `
}
