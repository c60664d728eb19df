import type { TargetedEvent } from 'preact'
import { useRef } from 'preact/hooks'
import { formatNumber } from './format.ts'
import { type Option, Select } from './forms.ts'
import { h, html } from './html.ts'
import { ListPage } from './list.ts'
import {
  orderDirections,
  platformsQuery,
  type UserRowFragment,
  userOrderFields,
  usersQuery,
} from './operations.generated.ts'
import { usePages } from './pages.ts'
import { useQuery } from './query.ts'
import { oneOf, root, setParams, useRoute } from './router.ts'
import { can } from './session.ts'
import { type Column, column, timeOf } from './table.ts'
import { Chips } from './ui.ts'
import { UserPanel } from './user-panel.ts'

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

export function UsersPage() {
  const { id, params } = useRoute()
  const { search, platform } = params
  const order = {
    field: oneOf(userOrderFields, params['order']) ?? 'CREATED_AT',
    direction: oneOf(orderDirections, params['direction']) ?? 'DESC',
  }
  const found = search && { or: [{ search }, { externalIds: [search] }] }
  const filter = { ...found, ...(platform && { platform }) }
  const pages = usePages({
    query: usersQuery,
    variables: { filter, orderBy: order, contacts: can('contacts:read') },
    connectionOf: ({ users }) => users,
  })

  return h(ListPage<UserRowFragment>, {
    title: 'Users',
    word: 'user',
    page: 'users',
    columns: columns(),
    pages,
    order,
    isFiltered: Boolean(search || platform),
    selected: id,
    filters: h(Filters, { search, platform }),
    onOrder: setParams,
    onReset: () => setParams({ search: '', platform: '' }),
    help: html`The mutation <code>createUser</code> creates a user. The <a href=${`${root}guides/graphql`}>guide</a> shows how.`,
    panel: id && h(UserPanel, { key: id, id }),
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
