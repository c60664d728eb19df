/**
 * A request of one server, and how to find the rows in its response. All servers must return the same rows. The load
 * generator puts a new id into the place `[<id>]`, and one of the `popular` users into `[<user>]`.
 *
 * @typedef {{ method?: string, path: string, body?: object }} Request
 * @typedef {Request & {
 *   pick: (response: any) => unknown
 *   popular?: Popular
 *   isConditional?: boolean
 * }} Ask `isConditional`: its client names the `ETag` of the response, which it has already
 * @typedef {{ ids: readonly string[], writes: number, write: Request }} Popular users, the part of the requests that
 *   write one of them, and how
 */

/** @param {any} user */
const userOf = (user) => ({ ...user, accounts: user.accounts?.map(accountOf) })
/** @param {any} account */
const accountOf = ({ id, platform, displayName, profile }) => ({ id, platform, displayName, profile })

/** A GraphQL request of the gateway, or of a peer whose schema has the same names. */
const graphql = (/** @type {string} */ query, /** @type {(data: any) => unknown} */ pick, variables = {}) => ({
  method: 'POST',
  path: '/graphql',
  body: { query, variables },
  pick: (/** @type {any} */ { data, errors }) => {
    if (errors) throw new Error(JSON.stringify(errors).slice(0, 500))
    return pick(data)
  },
})

const emails = 'emails { id value isPrimary }'
const deep = `id name email accounts { id platform displayName profile { id username fullName followersCount ${emails} } }`
const three = 'id name accounts { id platform displayName profile { id username followersCount } }'
const scalars = 'id name email phone createdAt'
const ofUser = `query ($id: ID!) { user(id: $id) { ${deep} } }`
const roundTrip = 'id accounts { id profile { id emails { id profile { id account { id user { id name } } } } } }'

// PostGraphile has other names for ids, returns counts as strings, and a relation to one row as a list. It sorts lists
// by the primary key unless it is told otherwise. The emails of a seeded profile have one time of creation.
const order = 'orderBy: [CREATED_AT_ASC, ROW_ID_ASC]'
const pgEmails = `emailRecordsByTenantAppIdAndProfileId { nodes { rowId value isPrimary } }`
const pgProfile = (/** @type {string} */ fields) =>
  `profilesByTenantAppIdAndAccountId(first: 1) { nodes { ${fields} } }`
const pgAccounts = (/** @type {string} */ profile) =>
  `accountsByTenantAppIdAndUserId(${order}) { nodes { rowId platform displayName ${profile} } }`

const pgRoundTrip = `rowId accountsByTenantAppIdAndUserId(${order}) { nodes { rowId ${pgProfile(`rowId
  emailRecordsByTenantAppIdAndProfileId { nodes { rowId profileByTenantAppIdAndProfileId {
    rowId accountByTenantAppIdAndAccountId { rowId userByTenantAppIdAndUserId { rowId name } } } } }`)} } }`

/** @param {any} value */
function fromPostgraphile(value) {
  if (Array.isArray(value)) return value.map(fromPostgraphile)
  if (typeof value !== 'object' || value === null) return value
  /** @type {any} */
  const row = {}
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'rowId') row.id = inner
    else if (key.startsWith('accounts')) row.accounts = fromPostgraphile(inner.nodes)
    else if (key.startsWith('profiles')) row.profile = fromPostgraphile(inner.nodes[0] ?? null)
    else if (/^(account|profile|user)By/.test(key)) row[key.slice(0, key.indexOf('By'))] = fromPostgraphile(inner)
    else if (key.startsWith('emailRecords')) row.emails = fromPostgraphile(inner.nodes)
    else if (key === 'followersCount') row[key] = inner === null ? null : Number(inner)
    else if (key === 'createdAt') row[key] = new Date(inner).toISOString()
    else row[key] = inner
  }
  return row
}

/**
 * Creates the cases of a run.
 *
 * @param {{ tenant: string, userId: string, accountIds: string[], jobId: string, small: string }} seeded
 */
export function createCases({ tenant, userId, accountIds, jobId, small }) {
  const inTenant = `condition: { tenantAppId: "${tenant}" }`
  const list = (/** @type {string} */ fields, /** @type {number} */ first) =>
    graphql(`{ users(first: ${first}) { nodes { ${fields} } } }`, (data) => data.users.nodes.map(userOf))
  const plain = (/** @type {string} */ fields, /** @type {number} */ first) =>
    graphql(`{ users(first: ${first}) { ${fields} } }`, (data) => data.users.map(userOf))
  const pgList = (/** @type {string} */ fields, /** @type {number} */ first) =>
    graphql(`{ allUsers(${inTenant}, first: ${first}, ${order}) { nodes { ${fields} } } }`, (data) =>
      fromPostgraphile(data.allUsers.nodes),
    )
  const limit = (/** @type {string} */ path) => ({ path, pick: (/** @type {any} */ response) => response })
  const profileFields = 'id username fullName followersCount'
  const oneUser = 'id name email accounts { id platform displayName }'
  const job = 'id status jobType payload result attempts'
  const create = 'input: { name: "Made", email: "made@example.com", phone: "+1 555 0100" }'
  const isMade = (/** @type {any} */ user) => ({ name: user.name, email: user.email })
  return withAlike({
    a: {
      title: '20 users → accounts → profile → emails',
      gateway: list(deep, 20),
      relation: plain(deep, 20),
      mercurius: plain(deep, 20),
      postgraphile: pgList(
        `rowId name email ${pgAccounts(pgProfile(`rowId username fullName followersCount ${pgEmails}`))}`,
        20,
      ),
      limit: limit('/a'),
    },
    b: {
      title: 'one user with accounts',
      gateway: graphql(`{ user(id: "${userId}") { ${oneUser} } }`, (data) => userOf(data.user)),
      relation: graphql(`{ user(id: "${userId}") { ${oneUser} } }`, (data) => userOf(data.user)),
      mercurius: graphql(`{ user(id: "${userId}") { ${oneUser} } }`, (data) => userOf(data.user)),
      postgraphile: graphql(
        `{ user: userByTenantAppIdAndRowId(tenantAppId: "${tenant}", rowId: "${userId}") { rowId name email ${pgAccounts('')} } }`,
        (data) => fromPostgraphile(data.user),
      ),
      limit: limit('/b'),
    },
    c: {
      title: '100 users, scalars only',
      gateway: list(scalars, 100),
      relation: plain(scalars, 100),
      mercurius: plain(scalars, 100),
      postgraphile: pgList('rowId name email phone createdAt', 100),
      limit: limit('/c'),
    },
    d: {
      title: '500 users → accounts → profile',
      gateway: list(three, 500),
      relation: plain(three, 500),
      mercurius: plain(three, 500),
      postgraphile: pgList(`rowId name ${pgAccounts(pgProfile('rowId username followersCount'))}`, 500),
      limit: limit('/d'),
    },
    e: {
      title: 'profiles of 100 accounts',
      ...Object.fromEntries(
        ['gateway', 'relation', 'mercurius'].map((peer) => [
          peer,
          graphql(`query ($ids: [ID!]!) { profiles(accountIds: $ids) { ${profileFields} } }`, (data) => data.profiles, {
            ids: accountIds,
          }),
        ]),
      ),
      // Without a plugin PostGraphile has no condition for several ids, so the query has one field per account.
      postgraphile: graphql(
        `{ ${accountIds
          .map(
            (id, index) =>
              `a${index}: accountByTenantAppIdAndRowId(tenantAppId: "${tenant}", rowId: "${id}") { ${pgProfile('rowId username fullName followersCount')} }`,
          )
          .join(' ')} }`,
        (data) => Object.values(data).map((account) => fromPostgraphile(account).profile),
      ),
      limit: limit('/e'),
    },
    f: {
      title: 'one job',
      ...Object.fromEntries(
        ['gateway', 'relation', 'mercurius'].map((peer) => [
          peer,
          graphql(`{ job(id: "${jobId}") { ${job} } }`, (data) => data.job),
        ]),
      ),
      postgraphile: graphql(
        `{ job: jobByTenantAppIdAndRowId(tenantAppId: "${tenant}", rowId: "${jobId}") { rowId status jobType payload result attempts } }`,
        (data) => {
          const { rowId: id, payload, result, ...rest } = data.job
          const parsed = (/** @type {any} */ value) => (typeof value === 'string' ? JSON.parse(value) : value)
          return { id, ...rest, payload: parsed(payload), result: parsed(result) }
        },
      ),
      limit: limit('/f'),
    },
    g: {
      title: 'create a user',
      gateway: graphql(`mutation { createUser(${create}) { user { id name email } } }`, (data) =>
        isMade(data.createUser.user),
      ),
      relation: graphql(`mutation { createUser(${create}) { id name email } }`, (data) => isMade(data.createUser)),
      mercurius: graphql(`mutation { createUser(${create}) { id name email } }`, (data) => isMade(data.createUser)),
      // The client chooses the id. The load generator puts a new one into each request.
      postgraphile: graphql(
        `mutation ($id: String!) { createUser(input: { user: { tenantAppId: "${small}", rowId: $id, name: "Made", email: "made@example.com", phone: "+1 555 0100", updatedAt: "2026-01-01T00:00:00Z" } }) { user { rowId name email } } }`,
        (data) => isMade(data.createUser.user),
        { id: 'usr_[<id>]' },
      ),
      limit: { method: 'POST', path: '/g', body: {}, pick: (/** @type {any} */ user) => isMade(user) },
    },
    m: {
      title: 'user → accounts → profile → emails → back to the user',
      ...Object.fromEntries(
        ['gateway', 'mercurius'].map((peer) => [
          peer,
          graphql(`{ user(id: "${userId}") { ${roundTrip} } }`, (data) => data.user),
        ]),
      ),
      postgraphile: graphql(
        `{ user: userByTenantAppIdAndRowId(tenantAppId: "${tenant}", rowId: "${userId}") { ${pgRoundTrip} } }`,
        (data) => fromPostgraphile(data.user),
      ),
      limit: limit('/m'),
    },
    h: {
      title: 'REST: GET /users/{id}',
      gateway: {
        path: `/users/${userId}`,
        pick: (/** @type {any} */ user) => ({ id: user.id, accounts: user.accounts.length }),
      },
      sofa: {
        path: `/api/user/${userId}`,
        pick: (/** @type {any} */ user) => ({ id: user.id, accounts: user.accounts.length }),
      },
      limit: { path: '/h', pick: (/** @type {any} */ user) => ({ id: user.id, accounts: user.accounts.length }) },
    },
    i: {
      title: 'REST: GET /fusion/profiles, 50 ids',
      gateway: {
        path: `/fusion/profiles?account_ids=${accountIds.slice(0, 50).join(',')}`,
        pick: (/** @type {any} */ { profiles }) => profiles.map((/** @type {any} */ { id }) => id),
      },
      // By POST, because SOFA reads at most twenty ids from a query string.
      sofa: {
        method: 'POST',
        path: '/api/profiles',
        body: { accountIds: accountIds.slice(0, 50) },
        pick: (/** @type {any} */ profiles) => profiles.map((/** @type {any} */ { id }) => id),
      },
      limit: {
        path: '/i',
        pick: (/** @type {any} */ { profiles }) => profiles.map((/** @type {any} */ { id }) => id),
      },
    },
  })
}

/** Adds the peers that do what the gateway does before an operation. They have the schemas of the others. */
function withAlike(cases) {
  return Object.fromEntries(
    Object.entries(cases).map(([letter, { mercurius, postgraphile, ...asks }]) => [
      letter,
      {
        ...asks,
        ...(mercurius && { mercurius, 'mercurius-alike': mercurius }),
        ...(postgraphile && { postgraphile, 'postgraphile-alike': postgraphile }),
      },
    ]),
  )
}

/**
 * Creates the cases in which the gateway may keep responses. The peers read each time. `gateway-reads` is the gateway
 * without memory.
 *
 * @param {ReturnType<typeof createCases>} cases
 * @param {{ tenant: string, userId: string, userIds: readonly string[] }} seeded
 */
export function createKeptCases(cases, { tenant, userId, userIds }) {
  const popular = (/** @type {Request} */ write) => ({ ids: userIds, writes: 0.01, write })
  const variables = { id: '[<user>]' }
  const rename = (/** @type {string} */ query, /** @type {object} */ more = {}) =>
    popular({ method: 'POST', path: '/graphql', body: { query, variables: { ...variables, ...more } } })
  const name = { name: 'Name [<id>]' }
  const ownUser = {
    ...graphql(ofUser, (data) => userOf(data.user), variables),
    popular: rename(
      'mutation ($id: ID!, $name: String!) { updateUser(input: { id: $id, name: $name }) { user { id name } } }',
      name,
    ),
  }
  const ofPostgraphile = `query ($id: String!) { user: userByTenantAppIdAndRowId(tenantAppId: "${tenant}", rowId: $id) {
    rowId name email ${pgAccounts(pgProfile(`rowId username fullName followersCount ${pgEmails}`))} } }`
  const user = (/** @type {any} */ { id, accounts }) => ({ id, accounts: accounts.length })
  const rest = { path: `/users/${userId}`, pick: user }
  const repeated = (/** @type {any} */ { gateway, limit, ...asks }) => ({
    gateway,
    'gateway-reads': gateway,
    limit,
    'mercurius-alike': asks['mercurius-alike'],
    'postgraphile-alike': asks['postgraphile-alike'],
  })
  return {
    q: {
      title: `the trees of ${userIds.length} users by id, chosen by Zipf's law, with 1 % writes`,
      gateway: ownUser,
      'gateway-reads': ownUser,
      limit: {
        path: '/q/[<user>]',
        pick: userOf,
        popular: popular({ method: 'POST', path: '/rename/[<user>]', body: {} }),
      },
      'mercurius-alike': {
        ...graphql(ofUser, (data) => userOf(data.user), variables),
        popular: rename('mutation ($id: ID!, $name: String!) { updateUser(id: $id, name: $name) { id name } }', name),
      },
      'postgraphile-alike': {
        ...graphql(ofPostgraphile, (data) => fromPostgraphile(data.user), variables),
        popular: rename(
          `mutation ($id: String!, $name: String!) { updateUserByTenantAppIdAndRowId(input: {
            tenantAppId: "${tenant}", rowId: $id, userPatch: { name: $name } }) { user { rowId name } } }`,
          name,
        ),
      },
    },
    r: { title: `(a) repeated: ${cases.a.title}`, ...repeated(cases.a) },
    s: { title: `(d) repeated: ${cases.d.title}`, ...repeated(cases.d) },
    t: {
      title: 'REST: GET /users/{id}, repeated',
      gateway: rest,
      'gateway-reads': rest,
      sofa: cases.h.sofa,
      limit: { path: '/t', pick: user },
    },
    't, If-None-Match': {
      title: 'the same by a client that has the response already',
      gateway: { ...rest, isConditional: true },
      'gateway-reads': { ...rest, isConditional: true },
      limit: { path: '/t', pick: user, isConditional: true },
    },
  }
}
