import { scopes } from '../auth/scopes.ts'
import type { Viewer } from '../auth/viewer.ts'
import { createContext, type Logger } from '../context.ts'
import type { Database } from '../db/database.ts'
import type { TenantApp } from '../db/generated/prisma/client.ts'
import { executeOperation } from '../graphql/execute.ts'
import { maxPageSize } from '../graphql/pagination.ts'
import { schema } from '../graphql/schema.ts'
import { fullUserFields, jobFields, profileFields } from '../rest/fields.ts'
import { compileOperation } from '../rest/operation.ts'
import { encode } from '../rest/shape.ts'
import { valueAt } from '../rest/value-at.ts'
import { createServices } from '../services.ts'

type Json = Record<string, unknown>

const page = '($first: Int, $after: String)'
const pageInfo = 'pageInfo { hasNextPage endCursor }'

const operations = {
  users: {
    operation: `query ExportUsers${page} { users(first: $first, after: $after) { nodes { ${fullUserFields} } ${pageInfo} } }`,
    answer: 'users.nodes',
  },
  profiles: {
    operation: `query ExportProfiles($ids: [ID!]!) { profiles(accountIds: $ids) { account_id: accountId ${profileFields} } }`,
    answer: 'profiles',
  },
  jobs: {
    operation: `query ExportJobs${page} { jobs(first: $first, after: $after) { nodes { ${jobFields} } ${pageInfo} } }`,
    answer: 'jobs.nodes',
  },
}

/**
 * Gives every record of a tenant, as the REST interface writes it: users with their accounts, each page followed by its
 * profiles (with the account's id), then jobs. The tenant's own id is left out, since it is another one where the
 * records are imported. It holds no more than a page.
 */
export async function* exportTenant(database: Database, tenant: TenantApp, log: Logger): AsyncGenerator<Json> {
  const viewer = viewerOf(tenant)
  const services = createServices(database)

  async function* pages(name: keyof typeof operations, variables: Json): AsyncGenerator<Json[]> {
    const { answer } = operations[name]
    const { document, shape } = compileOperation(schema, operations[name])
    let after: string | undefined
    do {
      const context = createContext(services, viewer, log)
      const { data, errors } = await executeOperation({ document, variables: { ...variables, after }, context })
      if (errors?.[0]) throw errors[0].originalError ?? errors[0]
      yield encode(shape, valueAt(data ?? {}, answer)) as Json[]
      const { hasNextPage, endCursor } = (valueAt(data ?? {}, `${name}.pageInfo`) ?? {}) as Json
      after = hasNextPage === true ? String(endCursor) : undefined
    } while (after !== undefined)
  }

  for await (const users of pages('users', { first: maxPageSize })) {
    for (const { tenant_app_id: _, ...user } of users) yield user
    const accountIds = users.flatMap(({ accounts }) => (accounts as { id: string }[]).map(({ id }) => id))
    for (let from = 0; from < accountIds.length; from += maxPageSize) {
      for await (const profiles of pages('profiles', { ids: accountIds.slice(from, from + maxPageSize) }))
        yield* profiles
    }
  }
  for await (const jobs of pages('jobs', { first: maxPageSize })) yield* jobs
}

function viewerOf({ id, name }: TenantApp): Viewer {
  return { tenantAppId: id, tenantName: name, keyId: 'export', keyName: 'export', scopes }
}
