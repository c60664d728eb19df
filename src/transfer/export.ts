import { domain } from '../domain/domain.ts'
import type { Export, Json } from '../domain/resource.ts'
import { schemas } from '../domain/schema.graphql.ts'
import { scopes } from '../engine/auth/scopes.ts'
import type { Viewer } from '../engine/auth/viewer.ts'
import { createContext, type Services } from '../engine/context.ts'
import type { Database } from '../engine/db/database.ts'
import type { TenantApp } from '../engine/db/generated/prisma/client.ts'
import { execute, statement } from '../engine/db/statement.ts'
import { executeOperation } from '../engine/graphql/operation/execute.ts'
import { createPreparer } from '../engine/graphql/operation/prepare/prepare.ts'
import { maxPageSize } from '../engine/graphql/schema/connection.ts'
import type { Logger } from '../engine/telemetry/logger.ts'
import { encode, valueAt } from '../rest/shape.ts'
import { storeOperation } from '../rest/stored-operation.ts'

const snapshot = statement('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')

/** The reader of an export may be slow. */
const patience = statement(`SET LOCAL idle_in_transaction_session_timeout = 0`)

/** Makes the current transaction read one snapshot. Must be its first statement. */
export async function beginSnapshot({ sql }: Pick<Database, 'sql'>): Promise<void> {
  await execute(sql, snapshot)
  await execute(sql, patience)
}

/**
 * Exports every record of a tenant in the format of the REST interface: users with their accounts, each page followed by its
 * profiles, then jobs. It holds one page at a time.
 *
 * @param services without a limit on what is read: a page of jobs can be longer than a request may read
 */
export async function* exportTenant(services: Services, tenant: TenantApp, log: Logger): AsyncGenerator<Json> {
  const preparer = createPreparer({ schemas, introspection: false, metrics: services.metrics })
  const viewer = viewerOf(tenant)

  /** Reads pages of records: one page, or all pages of a connection. */
  async function* pages({ operation: text, path, connection, without = [] }: Export, variables: Json) {
    const { operation, shape } = storeOperation(preparer, text, path)
    let after: unknown
    do {
      const context = createContext(services, viewer, log)
      const { data, errors } = await executeOperation({ operation, variables: { ...variables, after }, context })
      if (errors?.[0]) throw errors[0].originalError ?? errors[0]
      const records = encode(shape, valueAt(data ?? {}, path)) as Json[]
      yield records.map((record) =>
        Object.fromEntries(Object.entries(record).filter(([key]) => !without.includes(key))),
      )
      const { hasNextPage, endCursor } = (valueAt(data ?? {}, `${connection}.pageInfo`) ?? {}) as Json
      after = hasNextPage === true ? endCursor : undefined
    } while (after !== undefined)
  }

  for (const { name, transfer } of domain) {
    if (!transfer?.export.connection) continue
    const followers = domain.flatMap(({ transfer: other }) =>
      other?.export.belongsTo?.resource === name ? [{ ...other.export, ...other.export.belongsTo }] : [],
    )
    for await (const page of pages(transfer.export, { first: maxPageSize })) {
      yield* page
      for (const follower of followers) {
        for (const variables of follower.variablesOf(page)) {
          for await (const records of pages(follower, variables)) yield* records
        }
      }
    }
  }
}

function viewerOf({ id, name }: TenantApp): Viewer {
  return { tenantAppId: id, tenantName: name, keyId: 'export', keyName: 'export', scopes }
}
