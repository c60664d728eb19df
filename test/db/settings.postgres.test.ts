import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion, startGateway } from '../support/cli.ts'
import { migrate } from '../support/migrate.ts'
import {
  adminUrl,
  appRole,
  createDatabaseOfOwner,
  databaseUrl,
  dropDatabase,
  hasServer,
  ownerUrl,
  runAsAdmin,
} from '../support/postgresql.ts'

// An administrator may set any setting for a database. A tour through the gateway has the same results all the same.

/** The settings that are left as they are, and why. */
const leftOut = new Map([
  ['default_transaction_read_only', 'a reason not to be ready'],
  ['session_replication_role', 'a reason not to be ready'],
  ['search_path', 'another schema is refused'],
  ['client_encoding', 'the driver sets it'],
  ['default_tablespace', 'another one must exist'],
  ['temp_tablespaces', 'another one must exist'],
  ['default_table_access_method', 'another one must exist'],
  ['dynamic_library_path', 'extensions are not found'],
  ['local_preload_libraries', 'a library must exist'],
  ['session_preload_libraries', 'a library must exist'],
  ['timezone_abbreviations', 'a file must exist'],
  ['statement_timeout', 'of operators'],
  ['lock_timeout', 'of operators'],
  ['transaction_timeout', 'of operators'],
  ['idle_session_timeout', 'of operators'],
  ['restrict_nonsystem_relation_kind', 'of pg_dump'],
])

interface Setting {
  readonly name: string
  readonly vartype: string
  readonly setting: string
  readonly enumvals: readonly string[] | null
  readonly min_val: string | null
  readonly max_val: string | null
}

/** Other values of texts. */
const texts: Readonly<Record<string, string>> = {
  DateStyle: 'SQL, DMY',
  TimeZone: 'Asia/Tokyo',
  default_text_search_config: 'pg_catalog.german',
}

/** A value that a setting does not have. Undefined if there is none. */
function otherValue({ name, vartype, setting, enumvals, min_val, max_val }: Setting): string | undefined {
  if (vartype === 'bool') return setting === 'on' ? 'off' : 'on'
  if (vartype === 'enum') return enumvals?.find((value) => value !== setting && value !== 'debug5')
  if (vartype === 'integer' || vartype === 'real')
    return setting === min_val ? String(Math.min(Number(max_val), Number(min_val) + 1)) : String(min_val)
  return texts[name]
}

/** The settings that a role or a database can have, of the categories that can change results. */
async function readSettings(): Promise<readonly Setting[]> {
  const client = new pg.Client(adminUrl())
  await client.connect()
  const { rows } = await client.query<Setting>(`
    SELECT name, vartype, setting, enumvals, min_val, max_val FROM pg_settings
    WHERE context IN ('user', 'superuser') AND name !~ '^(transaction_|lc_|vacuum_)'
      AND category ~ '^(Client Connection Defaults|Version and Platform Compatibility|Query Tuning / Other)'`)
  await client.end()
  return rows.filter(({ name }) => !leftOut.has(name))
}

const created = ['plain', 'changed'].map((name) => `fusion_settings_${name}_${process.pid}`)
const [plain = '', changed = ''] = created

beforeAll(async () => {
  if (!hasServer) return
  for (const name of created) {
    await createDatabaseOfOwner(name)
    await migrate(ownerUrl(name), appRole())
  }
})
afterAll(async () => {
  if (hasServer) for (const name of created) await dropDatabase(name)
})

/** Creates, reads, searches, pages and exports rows. Returns all responses, without ids and times. */
async function tour(database: string): Promise<readonly unknown[]> {
  const env = { DATABASE_URL: databaseUrl(database) }
  await fusion(['tenants', 'create', 'Acme'], env)
  const key = (await fusion(['keys', 'create', '--tenant', 'Acme'], env)).stdout.trim()
  const gateway = await startGateway(env)
  const ids = new Map<string, string>()
  const shown = (text: string) =>
    text
      .replaceAll(/\b(?:usr|acc|prf|eml|job|evt)_[\w-]+/g, (id) => {
        if (!ids.has(id)) ids.set(id, `id ${ids.size}`)
        return String(ids.get(id))
      })
      .replaceAll(/\b20\d\d-\d\d-\d\dT[\d:.]+Z/g, 'time')
  const responses: unknown[] = []
  const send = async (query: string, variables: object = {}) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const response = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query, variables }),
    })
    const text = await response.text()
    const { data, errors } = JSON.parse(shown(text))
    responses.push({ query: query.slice(0, 60), data, errors })
    return JSON.parse(text).data
  }
  try {
    const names = ['Ada "the" first\\', "O'Neil", 'Żółć NULL', 'NULL', 'Grace', 'Linus', 'Margaret']
    const { createUsers } = await send(
      'mutation ($inputs: [CreateUserInput!]!) { createUsers(inputs: $inputs) { results { user { id name email phone createdAt } userErrors { code } } } }',
      { inputs: names.map((name, index) => ({ name, email: `${index}@example.com`, phone: `+${index}` })) },
    )
    const users = createUsers.results.map(({ user }: { user: { id: string } }) => user.id)
    const { linkAccounts } = await send(
      'mutation ($inputs: [LinkAccountInput!]!) { linkAccounts(inputs: $inputs) { results { account { id displayName createdAt } userErrors { code } } } }',
      {
        inputs: users.map((userId: string, index: number) => ({
          userId,
          platform: index % 2 ? 'X' : 'YOUTUBE',
          platformAccountId: `p${index}`,
          displayName: `Account ${index}`,
        })),
      },
    )
    const accounts = linkAccounts.results.map(({ account }: { account: { id: string } }) => account.id)
    const profiles = accounts.map((accountId: string, index: number) => ({
      accountId,
      username: `name ${index}`,
      description: index % 3 ? 'NULL' : null,
      followersCount: index * 1_000_003,
      watchTimeInHours: index / 3,
      dateOfBirth: index % 2 ? `19${60 + index}-02-0${index + 1}` : null,
      addresses: [{ city: 'Łódź', number: index }],
    }))
    const synced =
      '{ results { profile { username description followersCount watchTimeInHours dateOfBirth addresses } userErrors { code field } } }'
    await send(`mutation ($inputs: [SyncProfileInput!]!) { syncProfiles(inputs: $inputs) ${synced} }`, {
      inputs: profiles,
    })
    await send(`mutation ($inputs: [SyncProfileInput!]!) { syncProfiles(inputs: $inputs) ${synced} }`, {
      inputs: profiles,
    })
    const tree =
      'nodes { id name email phone createdAt accounts { displayName platform profile { username description watchTimeInHours dateOfBirth } } }'
    let after: string | null = null
    for (let page = 0; page < 3; page += 1) {
      const data = await send(
        `query ($after: String) { users(first: 3, after: $after) { ${tree} totalCount pageInfo { hasNextPage hasPreviousPage endCursor } } }`,
        { after },
      )
      after = data.users.pageInfo.endCursor
    }
    for (const filter of [
      { nameContains: 'nul' },
      { nameContains: 'a' },
      { search: 'żół' },
      { not: { nameContains: 'a' } },
      { platforms: ['X', 'NULL'] },
      { account: { profile: { descriptionIsNull: true } } },
      { createdAfter: '2020-01-01T00:00:00Z' },
    ]) {
      await send(`query ($filter: UserFilter) { users(filter: $filter) { ${tree} totalCount } }`, { filter })
    }
    await send(
      '{ searchProfiles(first: 5, orderBy: { field: FOLLOWERS_COUNT, direction: DESC }) { nodes { username followersCount } } }',
    )
    await send('{ profileStats { count followers { count sum average p50 } } }')
    await send(
      'mutation { createJob(input: { jobType: "x", payload: { text: "NULL", list: [null, "a"] } }) { job { id status payload attempts } } }',
    )
    await send('mutation { claimJobs(input: { jobTypes: ["x"], limit: 5 }) { leases { job { id status payload } } } }')
    const { length } = responses
    await expect
      // Transactions in other databases of the server can keep the last events from being read for a while.
      .poll(async () => JSON.stringify(await send('{ events(last: 1) { nodes { type } } }')), { timeout: 60_000 })
      .toContain('JOB_STARTED')
    responses.length = length
    await send('{ events(first: 100) { nodes { type resourceId userId } } }')
    await send('mutation ($id: ID!) { deleteUser(input: { id: $id }) { userErrors { code } } }', { id: users[0] })
    await send('{ tenantStats { users accounts profiles } }')
  } finally {
    await gateway.stop('SIGTERM')
  }
  const { stdout } = await fusion(['export', '--tenant', 'Acme'], env)
  responses.push(shown(stdout).split('\n').sort())
  return responses.map((response) =>
    JSON.parse(JSON.stringify(response).replaceAll(/"endCursor":"[^"]+"/g, '"endCursor":""')),
  )
}

describe.skipIf(!hasServer)('a database with other values of all settings that change results', () => {
  it('has the results of one with the defaults', async () => {
    const expected = await tour(plain)
    const settings = await readSettings()
    expect(settings.length).toBeGreaterThan(25)
    for (const setting of settings) {
      const value = otherValue(setting)
      if (value === undefined) throw new Error(`Say which other value ${setting.name} can have, or why it is left out`)
      await runAsAdmin(`ALTER DATABASE "${changed}" SET ${setting.name} = '${value}'`)
    }
    const actual = await tour(changed)
    expect(expected.filter((response) => Object(response).errors)).toEqual([])
    for (const [index, response] of expected.entries()) expect(actual[index]).toEqual(response)
    expect(actual).toHaveLength(expected.length)
  })
})
