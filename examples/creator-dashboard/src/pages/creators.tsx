import { use, useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { CreatorsDocument, type CreatorsQuery, type ProfileOrder } from '../__generated__/graphql.ts'
import { type Activity as Changes, useActivity } from '../client/use-activity.ts'
import { withheldFields } from '../client/withheld.ts'
import { Activity } from '../parts/activity.tsx'
import { Platform, Status } from '../parts/badges.tsx'
import { country, date, shortNumber, wholeNumber, words } from '../parts/format.ts'
import { navigate, useAddress, withParams } from '../parts/location.ts'
import { Empty, isRejected, Loading, messageOf, Problem } from '../parts/notices.tsx'
import { Stats } from '../parts/stats.tsx'
import { MissingFields, Value } from '../parts/value.tsx'

type Page = NonNullable<CreatorsQuery['searchProfiles']>
type Profile = Page['nodes'][number]

const pageLength = 10
const platforms = ['INSTAGRAM', 'TIKTOK', 'TWITCH', 'X', 'YOUTUBE']
/** Back to the first page: a cursor belongs to one list. */
const firstPage = { after: '', before: '' }

/** All profiles of the tenant. The address has the filter, the order and the page. */
export function Creators() {
  const address = useAddress()
  const param = (name: string) => address.searchParams.get(name) ?? ''
  const open = (params: Readonly<Record<string, string>>) => navigate(withParams(address, params))
  const orderBy: ProfileOrder = {
    field: param('sort') === 'updated' ? 'UPDATED_AT' : 'FOLLOWERS_COUNT',
    direction: param('direction') === 'asc' ? 'ASC' : 'DESC',
  }
  const before = param('before')
  const activity = useActivity()
  const [{ data, error, fetching, stale }, reload] = useQuery({
    query: CreatorsDocument,
    // The changes come first: what changes between the two reads is in the list, and what changes later is an event.
    pause: !activity.data && !activity.error,
    variables: {
      ...(before ? { last: pageLength, before } : { first: pageLength, after: param('after') || null }),
      filter: { search: param('search') || null, platform: param('platform') || null },
      orderBy,
    },
  })
  const page = data?.searchProfiles
  return (
    <>
      <title>Creators · Creator dashboard</title>
      <h1>Creators</h1>
      <Stats />
      <search className="filters">
        <Search value={param('search')} onChange={(search) => open({ ...firstPage, search })} />
        <label>
          Platform
          <select value={param('platform')} onChange={({ target }) => open({ ...firstPage, platform: target.value })}>
            <option value="">All</option>
            {platforms.map((platform) => (
              <option key={platform} value={platform}>
                {words(platform)}
              </option>
            ))}
          </select>
        </label>
        <p role="status">
          {page && `${wholeNumber(page.totalCount)} ${page.totalCount === 1 ? 'profile' : 'profiles'}`}
        </p>
      </search>
      {error && !page && isRejected(error) && (
        <Problem
          title="This part of the list does not exist"
          message="The link is incomplete or out of date."
          onRetry={() => navigate('/')}
          retry="Show all creators"
        />
      )}
      {error && !page && !isRejected(error) && (
        <Problem title="The creators cannot be listed" message={messageOf(error)} onRetry={reload} />
      )}
      {!page && !error && <Loading>Loading the creators</Loading>}
      {page && (
        <MissingFields value={{ unsupported: [], withheld: withheldFields(error) }}>
          <Table
            page={page}
            changed={activity.data}
            orderBy={orderBy}
            isBusy={fetching || stale}
            onSort={(sort, direction) => open({ ...firstPage, sort, direction })}
          />
          <Pager page={page} onOpen={open} />
        </MissingFields>
      )}
      <Activity {...activity} />
    </>
  )
}

const typingMilliseconds = 250

/** Searches when the typing pauses. */
function Search({ value, onChange }: { readonly value: string; readonly onChange: (search: string) => void }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing starts the pause
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => onChange(text), typingMilliseconds)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <label className="grow">
      Search
      <input
        type="search"
        value={text}
        placeholder="A part of a name"
        maxLength={200}
        onChange={({ target }) => setText(target.value)}
      />
    </label>
  )
}

interface TableProps {
  readonly page: Page
  /** What has changed since the page was opened. */
  readonly changed: Changes | undefined
  readonly orderBy: ProfileOrder
  readonly isBusy: boolean
  readonly onSort: (sort: string, direction: string) => void
}

function Table({ page, changed, orderBy, isBusy, onSort }: TableProps) {
  if (page.nodes.length === 0) return <Empty>No profile matches. Search for less, or choose another platform.</Empty>
  const sortable = (label: string, name: string, field: ProfileOrder['field'], className?: string) => {
    const isSorted = orderBy.field === field
    const isDescending = orderBy.direction === 'DESC'
    return (
      <th
        scope="col"
        className={className}
        aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}
      >
        <button type="button" onClick={() => onSort(name, isSorted && isDescending ? 'asc' : '')}>
          {label}
        </button>
      </th>
    )
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: people without a mouse scroll it by the keyboard
    <section className="table" aria-label="Creators" aria-busy={isBusy} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Creator</th>
            {/* Those that sort come first, because a narrow screen shows no more. */}
            {sortable('Followers', 'followers', 'FOLLOWERS_COUNT', 'number')}
            {sortable('Updated', 'updated', 'UPDATED_AT')}
            <th scope="col">Platform</th>
            <th scope="col">Owner</th>
            <th scope="col">Category</th>
            <th scope="col">Country</th>
            <th scope="col">Account</th>
          </tr>
        </thead>
        <tbody>
          {page.nodes
            .filter(({ account }) => !changed?.unlinked.has(account.id))
            .map((profile) => {
              const present = changed?.profiles.get(profile.id)
              const isNewer = present !== undefined && present.updatedAt >= profile.updatedAt
              return <Row key={profile.id} profile={isNewer ? present : profile} isChanged={isNewer} />
            })}
        </tbody>
      </table>
    </section>
  )
}

function Row({ profile, isChanged }: { readonly profile: Profile; readonly isChanged: boolean }) {
  const { account } = profile
  const { withheld } = use(MissingFields)
  return (
    <MissingFields value={{ unsupported: profile.unsupportedFields, withheld }}>
      <tr className={isChanged ? 'changed' : undefined}>
        <th scope="row">
          {profile.displayName ?? profile.username}
          <small>@{profile.username}</small>
        </th>
        <td
          className="number"
          title={profile.followersCount === null ? undefined : wholeNumber(profile.followersCount)}
        >
          <Value field="followersCount">
            {profile.followersCount === null ? null : shortNumber(profile.followersCount)}
          </Value>
        </td>
        <td>{date(profile.updatedAt)}</td>
        <td>
          <Platform platform={profile.platform} />
        </td>
        <td>
          {account.user.name}
          <small>
            <Value field="email">{account.user.email}</Value>
          </small>
        </td>
        <td>
          <Value field="category">{profile.category}</Value>
        </td>
        <td>
          <Value field="country">{profile.country && country(profile.country)}</Value>
        </td>
        <td>
          <Status status={account.status} />
        </td>
      </tr>
    </MissingFields>
  )
}

interface PagerProps {
  readonly page: Page
  readonly onOpen: (params: Readonly<Record<string, string>>) => void
}

function Pager({ page: { pageInfo }, onOpen }: PagerProps) {
  return (
    <nav className="pager" aria-label="Pages of the list">
      <button
        type="button"
        disabled={!pageInfo.hasPreviousPage}
        onClick={() => onOpen({ after: '', before: pageInfo.startCursor ?? '' })}
      >
        Previous
      </button>
      <button
        type="button"
        disabled={!pageInfo.hasNextPage}
        onClick={() => onOpen({ before: '', after: pageInfo.endCursor ?? '' })}
      >
        Next
      </button>
    </nav>
  )
}
