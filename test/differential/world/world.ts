import { createLogger } from '@fusion-gateway/telemetry'
import type { GraphQLSchema } from 'graphql'
import { createKey } from '../../../src/domain/credential/key.service.ts'
import { scopes as allScopes } from '../../../src/domain/scopes.ts'
import { createRandom } from '../../../src/domain/seed/seed.ts'
import { startTestApp, type TestApp, type TestTenant } from '../../support/app.ts'
import { type Cursors, createCursors } from '../reference/cursors.ts'
import { createReferenceSchema } from '../reference/reference.ts'
import { orderedTexts, orderTexts, readTables } from '../reference/tables.ts'
import { createView, type Holder, type View } from '../reference/view.ts'
import { createRows } from './create-rows.ts'
import { learnCursors } from './learn-cursors.ts'

/** Sends requests, and the reference knows what the holder may see. */
export interface Viewer {
  readonly name: string
  readonly credentials: TestTenant
  readonly holder: Holder
}

/** A viewer whose rows do not change. */
export interface Reader extends Viewer {
  readonly view: View
}

/** The gateway under test, its viewers, and the reference. */
export interface World {
  readonly app: TestApp
  readonly schema: GraphQLSchema
  /** A gateway on the same database that is a subgraph, and its schema. */
  readonly subgraph: Pick<World, 'app' | 'schema'>
  readonly cursors: Cursors
  /** A key of all scopes, keys with fewer, and a token of a user, of one tenant. */
  readonly readers: readonly Reader[]
  /** A key of all scopes of another tenant, whose rows have the same ids. */
  readonly other: Reader
  /** The viewers of a third tenant, whose rows the mutations change. */
  readonly writers: readonly Viewer[]
  close(): Promise<void>
}

/** The scopes of the token of a user. */
const scopesOfToken = ['users:read', 'users:write', 'profiles:read', 'contacts:read', 'events:read']

/** The user to whom tokens are bound. */
const boundUser = 'usr_1'

export async function createWorld(seed: number): Promise<World> {
  const logger = createLogger({ logLevel: 'fatal' }, { write: (line) => void process.stderr.write(line) })
  const options = { logger, keyCacheMilliseconds: 60_000, responseCacheBytes: 64 * 1024 * 1024 }
  const app = await startTestApp(options)
  const schema = createReferenceSchema()
  const subgraph = {
    app: await app.startAnother({ ...options, federation: true }),
    schema: createReferenceSchema({ isSubgraph: true }),
  }
  const cursors = createCursors()
  const random = createRandom(seed)
  const tenants = [await createFilled(), await createFilled(), await createFilled()] as const
  const viewers = await Promise.all(tenants.map((tenant) => createViewers(app, tenant)))
  const [[full, ...others] = [], [other] = [], writers = []] = viewers
  if (!full || !other) throw new Error('A tenant has no viewers')

  const [tables, tablesOfOther] = await Promise.all([
    readTables(app.database, full.holder.tenantAppId),
    readTables(app.database, other.holder.tenantAppId),
  ])
  const order = await orderTexts(app.database, orderedTexts(tables, tablesOfOther))
  const readers = [full, ...others].map((viewer) => ({
    ...viewer,
    view: createView(viewer.holder, tables, order, cursors),
  }))
  const readerOfOther = { ...other, view: createView(other.holder, tablesOfOther, order, cursors) }
  for (const reader of [...readers.slice(0, 1), readerOfOther]) await learnCursors(app, schema, reader)
  return {
    app,
    schema,
    subgraph,
    cursors,
    writers,
    readers,
    other: readerOfOther,
    async close() {
      await subgraph.app.close()
      await app.close()
    },
  }

  async function createFilled(): Promise<TestTenant> {
    const tenant = await app.createTenant()
    await createRows(app.database, tenant.tenantAppId, random)
    return tenant
  }
}

/**
 * The viewers of a tenant: keys of all scopes, without `contacts:read`, and of profiles alone, and the token of a user.
 */
async function createViewers(app: TestApp, tenant: TestTenant): Promise<Viewer[]> {
  const { tenantAppId, name: tenantName } = tenant
  const holder = { tenantAppId, tenantName, keyName: `key of ${tenantName}`, scopes: [...allScopes] }
  const withKey = async (name: string, scopes: readonly string[]): Promise<Viewer> => {
    const { key, row } = await createKey(app.database, { tenantAppId, name, scopes })
    return { name, credentials: { ...tenant, key, keyId: row.id }, holder: { ...holder, keyName: name, scopes } }
  }
  const { data } = await app.graphql<{ createAccessToken: { accessToken: string } }>(
    tenant,
    'mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }',
    { input: { userId: boundUser, scopes: scopesOfToken } },
  )
  return [
    { name: 'a key of all scopes', credentials: tenant, holder },
    await withKey(
      'a key without contacts:read',
      allScopes.filter((scope) => scope !== 'contacts:read'),
    ),
    {
      name: 'a token of a user',
      credentials: { ...tenant, token: data.createAccessToken.accessToken },
      holder: { ...holder, scopes: scopesOfToken, userId: boundUser },
    },
    await withKey('a key of profiles and jobs', ['profiles:read', 'jobs:read', 'jobs:write']),
  ]
}
