import { Curve } from './charts.ts'
import { useQuery } from './client.ts'
import { formatCompact, formatEnum } from './format.ts'
import { h, html } from './html.ts'
import { historyQuery, type UserQuery, userQuery } from './operations.generated.ts'
import { Panel } from './panel.ts'
import { can } from './session.ts'
import { Badge, Chips, Code, Facts, FailureNote, Time, Timeline } from './ui.ts'

type User = NonNullable<UserQuery['user']>

interface UserPanelProps {
  readonly id: string
  /** Changes after each change of the user. */
  readonly version: number
}

export function UserPanel({ id, version }: UserPanelProps) {
  const variables = { id, contacts: can('contacts:read'), profiles: can('profiles:read') }
  const query = useQuery(userQuery, variables, version)
  const user = query.data?.user
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
    ${found.accounts.map((account) => h(Account, { ...account, key: account.id }))}
    ${can('events:read') && h(History, { id: found.id, version })}
  `
  return h(Panel<User>, { kind: 'User', title: user?.name ?? id, page: 'users', query, object: user, body })
}

function Account({ id, platform, displayName, status, platformAccountId, profile }: User['accounts'][number]) {
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
        ${h(Curve, { label: 'Followers', points: profile.history })}`
      }
      ${h(Facts, {
        entries: [
          ['Account', html`<code>${id}</code>`],
          ['On the platform', html`<code>${platformAccountId}</code>`],
          ['User name', profile?.username],
          ['Country', profile?.country],
          ['Emails', profile?.emails?.map(({ value }) => value).join(', ')],
          ['Synchronized', profile ? h(Time, { at: profile.syncedAt }) : profile === null && 'Never'],
        ],
      })}
    </article>
  `
}

/** The last events of the user, and of the accounts and profiles of the user. */
function History({ id, version }: UserPanelProps) {
  const { data, failure, reload } = useQuery(historyQuery, { id }, version)
  const events = data?.events?.nodes.toReversed() ?? []
  const steps = events.map(({ type, createdAt, keyId }) => ({ title: formatEnum(type), at: createdAt, by: keyId }))
  return html`
    <h3>Events</h3>
    ${failure && h(FailureNote, { failure, onRetry: reload, isSmall: true })}
    ${data && steps.length === 0 && html`<p class="soft">The log has none.</p>`}
    ${h(Timeline, { steps })}
  `
}
