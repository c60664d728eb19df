import { useQuery } from './client.ts'
import type { Document } from './document.ts'
import { formatCompact, formatEnum } from './format.ts'
import { h, html } from './html.ts'
import { type HistoryQuery, historyQuery, type UserQuery, userQuery } from './operations.generated.ts'
import { Panel } from './panel.ts'
import { can } from './session.ts'
import { Badge, Chips, Facts, FailureNote, Time, Timeline } from './ui.ts'

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
        ['Created', h(Time, { at: found.createdAt })],
        ['Changed', h(Time, { at: found.updatedAt })],
      ],
    })}
    <h3>Accounts <span class="soft">${found.accounts.length}</span></h3>
    ${found.accounts.map((account) => h(Account, { ...account, key: account.id }))}
    ${can('events:read') && h(History, { user: found, version })}
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
        </p>`
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

type Histories = Document<Readonly<Record<string, HistoryQuery['events']>>, Readonly<Record<string, string>>>

/** `events` selects one resource at a time, so the field is selected once for each id. */
function historiesQuery(ids: readonly string[]): Histories {
  const [, field = ''] = /\{\n(.+)\n\}$/s.exec(historyQuery) ?? []
  const parameters = ids.map((_, at) => `$id${at}: ID!`).join(', ')
  const fields = ids.map((_, at) => field.replace('events', `of${at}: events`).replace('$id', `$id${at}`))
  return `query History(${parameters}) {\n${fields.join('\n')}\n}`
}

interface HistoryProps extends Omit<UserPanelProps, 'id'> {
  readonly user: User
}

/** The last events of the user, the accounts and the profiles, the first dozen of these. */
function History({ user, version }: HistoryProps) {
  const parts = user.accounts.flatMap(({ id, profile }) => (profile ? [id, profile.id] : [id]))
  const ids = [user.id].concat(parts).slice(0, 12)
  const variables = Object.fromEntries(ids.map((id, at) => [`id${at}`, id]))
  const { data, failure, reload } = useQuery(historiesQuery(ids), variables, version)
  const events = Object.values(data ?? {}).flatMap((connection) => connection?.nodes ?? [])
  events.sort((a, b) => (a.id < b.id ? 1 : -1))
  const steps = events.map(({ type, createdAt, keyId }) => ({ title: formatEnum(type), at: createdAt, by: keyId }))
  return html`
    <h3>Events</h3>
    ${failure && h(FailureNote, { failure, onRetry: reload, isSmall: true })}
    ${data && steps.length === 0 && html`<p class="soft">The log has none.</p>`}
    ${h(Timeline, { steps })}
  `
}
