import type { TargetedEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useQuery } from './client.ts'
import { formatNumber } from './format.ts'
import { type Option, Select } from './forms.ts'
import { h, html } from './html.ts'
import { ListPage } from './list.ts'
import { useSubscription } from './live.ts'
import {
  eventTypes,
  orderDirections,
  platformsQuery,
  type UserChangesSubscription,
  type UserRowFragment,
  userChangesSubscription,
  userOrderFields,
  usersQuery,
} from './operations.generated.ts'
import { usePages } from './pages.ts'
import { oneOf, root, setParams, useRoute } from './router.ts'
import { can } from './session.ts'
import { type Column, column, timeOf } from './table.ts'
import { Chips } from './ui.ts'
import { UserPanel } from './user-panel.ts'

const types = eventTypes.filter((type) => /^(?:USER|ACCOUNT|PROFILE)_/.test(type))

const platformsOf = ({ accounts }: UserRowFragment) =>
  h(Chips, { values: [...new Set(accounts.map(({ platform }) => platform))] })

function columns(): Column<UserRowFragment>[] {
  const email = column<UserRowFragment>('Email', 'minmax(15rem, 3fr)', (user) => user.email, 'meta')
  return [
    column<UserRowFragment>('Name', 'minmax(10rem, 2fr)', ({ name }) => name, 'title', 'NAME'),
    ...(can('contacts:read') ? [email] : []),
    column('Platforms', 'minmax(16.5rem, 3fr)', platformsOf),
    column('Created', '8rem', timeOf('createdAt'), 'end', 'CREATED_AT'),
    column('Changed', '8rem', timeOf('updatedAt'), undefined, 'UPDATED_AT'),
  ]
}

const userOf = ({ node }: UserChangesSubscription['events']): UserRowFragment | undefined =>
  node?.__typename === 'User' ? node : undefined

export function UsersPage() {
  const { id, params } = useRoute()
  const { search, platform } = params
  const order = {
    field: oneOf(userOrderFields, params['order']) ?? 'CREATED_AT',
    direction: oneOf(orderDirections, params['direction']) ?? 'DESC',
  }
  const found = search && { or: [{ search }, { externalIds: [search] }] }
  const filter = { ...found, ...(platform && { platform }) }
  const contacts = can('contacts:read')
  const { pages, reload } = usePages({
    query: usersQuery,
    variablesOf: (isFirst) => ({ filter, orderBy: order, isFirst, contacts, log: isFirst && can('events:read') }),
    connectionOf: ({ users }) => users,
  })
  const [version, setVersion] = useState(0)
  const [unseen, setUnseen] = useState(0)
  useEffect(() => setUnseen(0), [pages])

  const isFiltered = Boolean(search || platform)
  const isNewestFirst = !isFiltered && order.field === 'CREATED_AT' && order.direction === 'DESC'
  const after = pages.data?.events?.nodes[0]?.id
  const follow = (results: readonly UserChangesSubscription[]) => {
    const events = results.map((result) => result.events)
    const deleted = new Set(events.filter(({ type }) => type === 'USER_DELETED').map(({ resourceId }) => resourceId))
    if (deleted.size > 0) pages.set(pages.nodes.filter((user) => !deleted.has(user.id)))
    const changes = events.filter(({ type }) => type === 'USER_CREATED' || type === 'USER_UPDATED')
    const unknown = new Set(pages.patch(changes.flatMap((event) => userOf(event) ?? [])).map((user) => user.id))
    const created = changes.filter(({ type, resourceId }) => type === 'USER_CREATED' && unknown.has(resourceId))
    const added = created.flatMap((event) => userOf(event) ?? []).reverse()
    if (isNewestFirst) pages.set(added.concat(pages.nodes))
    else setUnseen((count) => count + created.length)
    if (events.some(({ userId }) => userId === id)) setVersion((count) => count + 1)
  }
  const query = pages.data && can('events:read') && userChangesSubscription
  const live = useSubscription(query, { after, types, contacts }, follow, ({ events }, variables) => ({
    ...variables,
    after: events.id,
  }))

  return h(ListPage<UserRowFragment>, {
    title: 'Users',
    word: 'user',
    page: 'users',
    columns: columns(),
    pages,
    live,
    order,
    isFiltered,
    selected: id,
    actions: unseen > 0 && html`<button type="button" onClick=${reload}>Show ${unseen} new</button>`,
    filters: h(Filters, { search, platform }),
    onOrder: setParams,
    onReset: () => setParams({ search: '', platform: '' }),
    help: html`The mutation <code>createUser</code> creates a user. The <a href=${`${root}guides/graphql`}>guide</a> shows how.`,
    panel: id && h(UserPanel, { key: id, id, version }),
  })
}

interface FiltersProps {
  readonly search: string | undefined
  readonly platform: string | undefined
}

function Filters({ search = '', platform = '' }: FiltersProps) {
  const { data } = useQuery(platformsQuery, {})
  const timer = useRef<ReturnType<typeof setTimeout>>()
  const onSearch = ({ currentTarget: { value } }: TargetedEvent<HTMLInputElement>) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setParams({ search: value.trim() }, { replace: true }), 250)
  }
  const counts = data?.tenantStats?.accountsByPlatform ?? [{ platform, count: 0 }]
  const platforms = counts.map(
    ({ platform: name, count }): Option => [name, name && `${name} (${formatNumber(count)})`],
  )
  const all: Option = ['', 'All platforms']
  return html`
    <form class="line" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
      <label><span class="hidden">Search</span>
        <input type="search" size="28" placeholder=${can('contacts:read') ? 'Search name, email, external id' : 'Search name, external id'} value=${search} onInput=${onSearch} />
      </label>
      ${h(Select, {
        label: 'Platform',
        value: platform,
        options: [all].concat(platforms),
        onChange: (value) => setParams({ platform: value }),
      })}
    </form>
  `
}
