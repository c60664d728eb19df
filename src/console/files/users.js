import { useEffect, useRef, useState } from 'preact/hooks'
import { useQuery } from './client.js'
import { formatCompact, formatEnum, formatNumber } from './format.js'
import { html } from './html.js'
import { column, ListPage, timeOf, usePages } from './list.js'
import { afterEvent, useSubscription } from './live.js'
import { setParams, useRoute } from './router.js'
import { can } from './session.js'
import { Badge, Facts, FailureNote, Panel, Select, Time, Timeline } from './ui.js'

// Fields that the key may not read are left out.
const rowFields = () => `id name ${can('contacts:read') ? 'email ' : ''}createdAt updatedAt accounts { id platform }`

const listQuery =
  () => `query Users($first: Int, $after: String, $filter: UserFilter, $orderBy: UserOrder, $isFirst: Boolean!) {
  users(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
    nodes { ${rowFields()} }
    pageInfo { hasNextPage endCursor }
    totalCount @include(if: $isFirst)
  }${can('events:read') ? '\n  events(last: 1) @include(if: $isFirst) { nodes { id } }' : ''}
}`

const changesQuery = () => `subscription UserChanges($after: ID, $types: [EventType!]) {
  events(after: $after, types: $types) {
    id type resourceId userId
    node { ... on User { ${rowFields()} } }
  }
}`
const types =
  'USER_CREATED USER_UPDATED USER_DELETED ACCOUNT_LINKED ACCOUNT_UPDATED ACCOUNT_UNLINKED PROFILE_SYNCED'.split(' ')

const platformsQuery = `query Platforms {
  tenantStats { accountsByPlatform { platform count } }
}`

const Chips = ({ values }) => values.map((value) => html`<span class="chip">${value}</span> `)
const platformsOf = ({ accounts }) =>
  html`<${Chips} values=${[...new Set(accounts.map(({ platform }) => platform))]} />`

const columns = () => [
  column('Name', 'minmax(11rem, 2fr)', ({ name }) => name, 'title', 'NAME'),
  ...(can('contacts:read') ? [column('Email', 'minmax(12rem, 2fr)', ({ email }) => email, 'meta')] : []),
  column('Platforms', 'minmax(15rem, 2fr)', platformsOf),
  column('Created', '9rem', timeOf('createdAt'), 'end', 'CREATED_AT'),
  column('Changed', '9rem', timeOf('updatedAt'), undefined, 'UPDATED_AT'),
]

export function UsersPage() {
  const { id, params } = useRoute()
  const { search, platform, order: field = 'CREATED_AT', direction = 'DESC' } = params
  const filter = { ...(search && { search }), ...(platform && { platform }) }
  const order = { field, direction }
  const { pages, reload } = usePages(listQuery(), { filter, orderBy: order }, 'users')
  const [version, setVersion] = useState(0)
  const [unseen, setUnseen] = useState(0)
  useEffect(() => setUnseen(0), [pages])

  const isFiltered = Boolean(search || platform)
  const isNewestFirst = !isFiltered && field === 'CREATED_AT' && direction === 'DESC'
  const after = pages.data?.events?.nodes[0]?.id
  const follow = (results) => {
    const events = results.map((result) => result.events)
    const deleted = new Set(events.filter(({ type }) => type === 'USER_DELETED').map(({ resourceId }) => resourceId))
    if (deleted.size > 0) pages.set(pages.nodes.filter((user) => !deleted.has(user.id)))
    const users = events.filter(({ node, type }) => node?.name && /^USER_[CU]/.test(type))
    const unknown = new Set(pages.patch(users.map(({ node }) => node)).map((user) => user.id))
    const created = users.filter(({ type, resourceId }) => type === 'USER_CREATED' && unknown.has(resourceId))
    if (isNewestFirst) pages.set([...created.map(({ node }) => node).reverse(), ...pages.nodes])
    else setUnseen((count) => count + created.length)
    if (events.some(({ userId }) => userId === id)) setVersion((count) => count + 1)
  }
  const live = useSubscription(pages.data && can('events:read') && changesQuery(), { after, types }, follow, afterEvent)

  return html`
    <${ListPage}
      title="Users" word="user" page="users"
      columns=${columns()}
      ...${{ live, pages, order, isFiltered, selected: id }}
      actions=${unseen > 0 && html`<button type="button" onClick=${reload}>Show ${unseen} new</button>`}
      filters=${html`<${Filters} ...${{ search, platform }} />`}
      onOrder=${setParams}
      onReset=${() => setParams({ search: '', platform: '' })}
      help=${html`The mutation <code>createUser</code> creates a user. The <a href="/guides/graphql">guide</a> shows how.`}
      panel=${id && html`<${UserPanel} key=${id} ...${{ id, version }} />`}
    />
  `
}

function Filters({ search = '', platform = '' }) {
  const { data } = useQuery(platformsQuery, {})
  const timer = useRef()
  const onSearch = ({ target: { value } }) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setParams({ search: value.trim() }, { replace: true }), 250)
  }
  const counts = data?.tenantStats?.accountsByPlatform ?? [{ platform, count: 0 }]
  const options = counts.map(({ platform: name, count }) => [name, name && `${name} (${formatNumber(count)})`])
  return html`
    <form class="line" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label><span class="hidden">Search</span>
        <input type="search" size="28" placeholder=${can('contacts:read') ? 'Search name or email' : 'Search name'} value=${search} onInput=${onSearch} />
      </label>
      <${Select} label="Platform" value=${platform} options=${[['', 'All platforms'], ...options]} onChange=${(value) => setParams({ platform: value })} />
    </form>
  `
}

const profileFields = () =>
  `profile { id username followersCount subscribersCount contentsCount country verified syncedAt${can('contacts:read') ? ' emails { value }' : ''} }`

const userQuery = () => `query User($id: ID!) {
  user(id: $id) {
    id name ${can('contacts:read') ? 'email phone ' : ''}createdAt updatedAt
    accounts {
      id platform platformAccountId displayName status
      ${can('profiles:read') ? profileFields() : ''}
    }
  }
}`

function UserPanel({ id, version }) {
  const query = useQuery(userQuery(), { id }, version)
  const user = query.data?.user
  const body = () => html`
    <${Facts}
      entries=${[
        ['Id', html`<code>${user.id}</code>`],
        ['Email', user.email && html`<a href="mailto:${user.email}">${user.email}</a>`],
        ['Phone', user.phone],
        ['Created', html`<${Time} at=${user.createdAt} />`],
        ['Changed', html`<${Time} at=${user.updatedAt} />`],
      ]}
    />
    <h3>Accounts <span class="soft">${user.accounts.length}</span></h3>
    ${user.accounts.map((account) => html`<${Account} key=${account.id} ...${account} />`)}
    ${can('events:read') && html`<${History} user=${user} version=${version} />`}
  `
  return html`
    <${Panel} kind="User" title=${user?.name ?? id} page="users" query=${query} object=${user} body=${body} />
  `
}

const Account = ({ id, platform, displayName, status, platformAccountId, profile }) => html`
  <article class="stack tight box">
    <div class="line"><strong>${displayName}</strong><${Chips} values=${[platform]} /><span class="push"></span><${Badge} status=${status} /></div>
    ${
      profile &&
      html`<p class="line">
        <span><b>${formatCompact(profile.followersCount ?? profile.subscribersCount)}</b> followers</span>
        <span><b>${formatCompact(profile.contentsCount)}</b> posts</span>
        ${profile.verified && html`<${Chips} values=${['Verified']} />`}
      </p>`
    }
    <${Facts}
      entries=${[
        ['Account', html`<code>${id}</code>`],
        ['On the platform', html`<code>${platformAccountId}</code>`],
        ['User name', profile?.username],
        ['Country', profile?.country],
        ['Emails', profile?.emails?.map(({ value }) => value).join(', ')],
        ['Synchronized', profile ? html`<${Time} at=${profile.syncedAt} />` : profile === null && 'Never'],
      ]}
    />
  </article>
`

/** `events` selects one resource at a time. */
function historyQuery(ids) {
  const parameters = ids.map((_, at) => `$id${at}: ID!`).join(', ')
  const fieldOf = (_, at) =>
    `  of${at}: events(last: 10, filter: { resourceId: $id${at} }) { nodes { id type createdAt keyId } }`
  return `query History(${parameters}) {\n${ids.map(fieldOf).join('\n')}\n}`
}

/** The last events of the user, the accounts and the profiles, the first dozen of these. */
function History({ user, version }) {
  const ids = [user.id, ...user.accounts.flatMap(({ id, profile }) => (profile ? [id, profile.id] : [id]))].slice(0, 12)
  const variables = Object.fromEntries(ids.map((id, at) => [`id${at}`, id]))
  const { data, failure, reload } = useQuery(historyQuery(ids), variables, version)
  const events = Object.values(data ?? {}).flatMap(({ nodes }) => nodes)
  events.sort((a, b) => (a.id < b.id ? 1 : -1))
  const steps = events.map(({ type, createdAt, keyId }) => ({ title: formatEnum(type), at: createdAt, by: keyId }))
  return html`
    <h3>Events</h3>
    ${failure && html`<${FailureNote} failure=${failure} onRetry=${reload} isSmall />`}
    ${data && steps.length === 0 && html`<p class="soft">The log has none.</p>`}
    <${Timeline} steps=${steps} />
  `
}
