import type { Random } from '../../src/domain/resource.ts'
import { type Json, marksOfOthers, Observation } from './observation.ts'
import { contactOf, type Person, type Viewer } from './people.ts'

/** A read that can be repeated. */
export interface Read {
  readonly viewer: Viewer
  /** The same for the same request of the same viewer. */
  readonly key: string
  readonly path: string
  /** The body of a POST. Without it, the read is a GET. */
  readonly body?: object
  check(observation: Observation, response: Response): void
}

interface Response {
  readonly status: number
  readonly text: string
}

/** Reads the people of the viewer's tenant, of whom one is meant. */
type Shape = (viewer: Viewer, person: Person, random: Random) => Read

const profileFields = 'id followersCount emails { value }'
const userFields = `id name email phone accounts { id displayName profile { ${profileFields} } }`

/** Whether a row was deleted between two statements of a read. The client is told to ask again. */
export const hasDeletedRow = (body: string) => body.includes('A row of the response was deleted')

/** A query. Without `contacts:read`, some of its fields are FORBIDDEN. */
function query(
  text: string,
  check: (observation: Observation, data: Json) => void,
  variables: (viewer: Viewer, person: Person, random: Random) => object = () => ({}),
  { isGet = false, needsContacts = false } = {},
): Shape {
  const operation = text.replaceAll(/\s+/g, ' ')
  const hasContacts = /\b(emails?|phone)\b/.test(operation)
  return (viewer, person, random) => {
    const values = variables(viewer, person, random)
    const parameters = new URLSearchParams({ query: operation, variables: JSON.stringify(values) })
    return {
      viewer,
      key: `${viewer.tenant.mark} ${viewer.name} ${operation} ${JSON.stringify(values)}`,
      ...(isGet
        ? { path: `/graphql?${parameters}` }
        : { path: '/graphql', body: { query: operation, variables: values } }),
      check(observation, { text: body }) {
        const { data, errors = [] } = JSON.parse(body)
        const codes = new Set(errors.map(({ extensions }: Json) => extensions.code))
        const isForbidden = hasContacts && !viewer.seesContacts
        if (isForbidden && hasDeletedRow(body)) {
          observation.tear()
          return
        }
        for (const code of codes)
          if (code !== 'FORBIDDEN' || !isForbidden) observation.wrong(`the error ${code}: ${body.slice(0, 1_000)}`)
        // Nothing is forbidden where there is no row.
        const isEmpty = !/"(email|emails|phone)":/.test(body)
        if (isForbidden && codes.size === 0 && !isEmpty) observation.wrong('nothing is forbidden')
        if (needsContacts && isForbidden) {
          if (codes.size === 0 || Object.values(data ?? {}).some((value) => value !== null))
            observation.wrong('it is not forbidden')
          return
        }
        check(observation, data)
      },
    }
  }
}

/** A route. It needs `contacts:read`. */
function route(
  pathOf: (person: Person) => string,
  check: (person: Person) => (observation: Observation, body: Json) => void,
): Shape {
  return (viewer, person) => {
    const path = pathOf(person)
    return {
      viewer,
      key: `${viewer.tenant.mark} ${viewer.name} ${path}`,
      path,
      check(observation, { status, text }) {
        if (!viewer.seesContacts) {
          if (status !== 403) observation.wrong(`the status ${status} without contacts:read`)
          return
        }
        if (status !== 200 && status !== 404) return observation.wrong(`the status ${status}`)
        check(person)(observation, status === 200 ? JSON.parse(text) : undefined)
      },
    }
  }
}

const isVisible = ({ boundTo }: Viewer, person: Person) => boundTo === undefined || boundTo === person

const ofUser = (_: Viewer, { userId }: Person) => ({ id: userId })

const byId = (name: string, isGet: boolean): Shape => {
  const text = `query ${name}($id: ID!) { user(id: $id) { ${userFields} } }`
  return (viewer, person, random) =>
    query(text, (observation, { user }) => checkOne(viewer, person, observation, 'user', user), ofUser, { isGet })(
      viewer,
      person,
      random,
    )
}

/** Checks a row that is read by its id, which a viewer may not see. */
function checkOne(
  viewer: Viewer,
  person: Person,
  observation: Observation,
  level: 'user' | 'account',
  row: Json,
): void {
  if (isVisible(viewer, person)) observation[level](person, row)
  else if (row != null) observation.wrong(`${row.id} is shown`)
}

/** The profiles of some accounts: those of the person and of the two next. */
const some = ({ tenant, accountId }: Person): Person[] => {
  const first = tenant.people.findIndex((person) => person.accountId === accountId)
  return [0, 1, 2].flatMap((offset) => tenant.people[(first + offset) % tenant.people.length] ?? [])
}

function checkProfiles(viewer: Viewer, person: Person, observation: Observation, rows: Json): void {
  const found = new Map<unknown, Json>(rows.map((row: Json) => [row.id, row]))
  for (const one of some(person).filter((other) => isVisible(viewer, other))) {
    observation.profile(one, found.get(one.profileId))
    found.delete(one.profileId)
  }
  for (const id of found.keys()) observation.wrong(`${id} is shown`)
}

const profiles: Shape = (viewer, person, random) =>
  query(
    `query Profiles($ids: [ID!]!) { profiles(accountIds: $ids) { ${profileFields} account { displayName } } }`,
    (observation, data) => checkProfiles(viewer, person, observation, data.profiles),
    () => ({ ids: some(person).map(({ accountId }) => accountId) }),
  )(viewer, person, random)

/** A user can have the id of the account. Then it is the user that is returned. */
const node: Shape = (viewer, person, random) =>
  query(
    `query Node($id: ID!) { node(id: $id) {
      __typename id ... on User { name } ... on Account { displayName profile { ${profileFields} } user { name } } } }`,
    (observation, data) => {
      const namesake = viewer.tenant.people.find(({ userId }) => userId === person.accountId)
      if (namesake && data.node?.__typename === 'User') checkOne(viewer, namesake, observation, 'user', data.node)
      else checkOne(viewer, person, observation, 'account', data.node)
    },
    () => ({ id: person.accountId }),
  )(viewer, person, random)

const byEmail: Shape = (viewer, person, random) => {
  const address = contactOf(person, random.below(3))
  return query(
    'query ByEmail($email: String!) { users(filter: { email: $email }) { nodes { id name } totalCount } }',
    (observation, { users }) => observation.usersWith(address, users.nodes, users.totalCount),
    () => ({ email: address }),
    { needsContacts: true },
  )(viewer, person, random)
}

/** Some users of a filter, in an order of two fields. Names begin with the ids. */
const sorted: Shape = query(
  `query Sorted { users(first: 20, filter: { nameContains: "name" },
    orderBy: { field: CREATED_AT, direction: DESC }, thenBy: [{ field: NAME, direction: DESC }]) {
    nodes { id name accounts { id displayName } } totalCount } }`,
  (observation, { users }) => {
    observation.list('user', users.nodes, users.totalCount)
    const ids = users.nodes.map(({ id }: Json) => id)
    if (String(ids.toSorted().reverse()) !== String(ids)) observation.wrong(`the order is ${ids}`)
  },
)

const byFollowers: Shape = query(
  `query ByFollowers { searchProfiles(first: 20, filter: { followersMin: 0 },
    orderBy: { field: FOLLOWERS_COUNT, direction: DESC }) { nodes { id followersCount account { displayName } } } }`,
  (observation, { searchProfiles: { nodes } }) => {
    observation.list('profile', nodes)
    const counts = nodes.map(({ followersCount }: Json) => Number(followersCount))
    if (String(counts.toSorted((one: number, other: number) => other - one)) !== String(counts))
      observation.wrong(`the order is ${counts}`)
  },
)

/** Users by ids, which are those of accounts too. */
const manyNodes: Shape = (viewer, person, random) =>
  query(
    'query Nodes($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on User { name accounts { id displayName } } } }',
    (observation, { nodes }) => {
      for (const [index, one] of some(person).entries())
        if (nodes[index] == null || nodes[index].__typename === 'User')
          checkOne(viewer, one, observation, 'user', nodes[index])
    },
    () => ({ ids: some(person).map(({ userId }) => userId) }),
  )(viewer, person, random)

/** A token of a user sees no jobs, so a key of the tenant reads them. */
const jobs: Shape = ({ tenant, boundTo, ...viewer }, person, random) => {
  const [key] = tenant.viewers
  return query('query Jobs { jobs(first: 20) { nodes { id progress } totalCount } }', (observation, data) =>
    observation.jobs(data.jobs.nodes, data.jobs.totalCount),
  )(boundTo && key ? key : { tenant, ...viewer }, person, random)
}

/** All shapes. The first ones read one user, and the others lists and counts. */
export const shapes: readonly Shape[] = [
  byId('Tree', false),
  byId('TreeByGet', true),
  route(
    ({ userId }) => `/users/${userId}`,
    (person) => (observation, user) => {
      const isKnown = observation.visible().includes(person)
      if (isKnown) observation.user(person, user)
      else if (user !== undefined) observation.wrong(`${user.id} is shown`)
    },
  ),
  profiles,
  node,
  manyNodes,
  byEmail,
  sorted,
  byFollowers,
  jobs,
  // Reads of one model.
  (viewer, person, random) =>
    query(
      'query Name($id: ID!) { user(id: $id) { id name } }',
      (observation, { user }) => checkOne(viewer, person, observation, 'user', user),
      ofUser,
    )(viewer, person, random),
  query('query Names { users(first: 20) { nodes { id name } totalCount } }', (observation, { users }) =>
    observation.list('user', users.nodes, users.totalCount),
  ),
  query('query AccountNames { accounts(first: 20) { nodes { id displayName } totalCount } }', (observation, data) =>
    observation.list('account', data.accounts.nodes, data.accounts.totalCount),
  ),
  query('query UserCount { userStats { count } }', (observation, data) =>
    observation.count('user', data.userStats.count),
  ),
  query(`query Page { users(first: 20) { nodes { ${userFields} } totalCount } }`, (observation, { users }) =>
    observation.list('user', users.nodes, users.totalCount),
  ),
  query(
    `query Accounts { accounts(first: 20, filter: { platform: "YOUTUBE" }) {
      nodes { id displayName user { name } profile { ${profileFields} } } totalCount } }`,
    (observation, { accounts }) => observation.list('account', accounts.nodes, accounts.totalCount),
  ),
  query(
    `query Search { searchProfiles(first: 20) { nodes { ${profileFields} account { displayName } } totalCount } }`,
    (observation, { searchProfiles }) => observation.list('profile', searchProfiles.nodes, searchProfiles.totalCount),
  ),
  route(
    () => '/users?limit=20',
    () =>
      (observation, { users }) =>
        observation.list('user', users),
  ),
  (viewer, person, random) =>
    route(
      () => `/fusion/profiles?account_ids=${some(person).map(({ accountId }) => accountId)}`,
      () => (observation, body) => checkProfiles(viewer, person, observation, body.profiles),
    )(viewer, person, random),
  query('query Stats { userStats { count } profileStats { count followers { sum } } }', (observation, data) => {
    observation.count('user', data.userStats.count)
    observation.count('profile', data.profileStats.count)
    observation.sum(data.profileStats.followers.sum)
  }),
]

/** Checks a response, and that it has nothing of other tenants. */
export function checkResponse(read: Read, observation: Observation, response: Response): void {
  for (const mark of marksOfOthers(read.viewer.tenant, response.text)) observation.wrong(`rows of ${mark}`)
  try {
    read.check(observation, response)
  } catch (error) {
    observation.wrong(`${(error as Error).message}: ${response.status} ${response.text.slice(0, 1_000)}`)
  }
}

export function observe(read: Read, place: string | undefined): Observation {
  return new Observation(read.viewer, place)
}
