import type { Viewer } from '@fusion-gateway/auth'
import type { Database, TenantApp } from '@fusion-gateway/database'
import { createContext, createPreparer, executeOperation, type Services } from '@fusion-gateway/gateway-kit'
import { maxPageSize } from '@fusion-gateway/prisma-trees'
import { type Sql, statement } from '@fusion-gateway/sql'
import type { Logger } from '@fusion-gateway/telemetry'
import { changedResources, changedUsers, readDeltaEnd } from '../domain/event/event-log.ts'
import type { Export, Json } from '../domain/resource.ts'
import { domain } from '../domain/resources.ts'
import { schemas } from '../domain/schema.graphql.ts'
import { scopes } from '../domain/scopes.ts'
import { encode, storeOperation, valueAt } from '../rest/stored-operation.ts'

const snapshot = statement('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')

/** The reader of an export may be slow. */
const allowIdle = statement(`SET LOCAL idle_in_transaction_session_timeout = 0`)

/** Makes the current transaction read one snapshot. Must be its first statement. */
export async function beginSnapshot(sql: Sql): Promise<void> {
  await sql.execute(snapshot)
  await sql.execute(allowIdle)
}

/**
 * Exports the records of a tenant in the format of the REST interface: users with their accounts, each page followed by
 * its profiles, then jobs. It holds one page at a time. The last record is the position in the event log from which a
 * delta continues: `{"event":"evt_…"}`.
 *
 * @param services without a limit on what is read: a page of jobs can be longer than a request may read
 * @param since exports a delta: what was deleted after this position (`{"deleted":"user","id":"usr_…"}`), which comes
 *   first, so that no record of the copy is in the way of the others, and then the users and jobs that have changed, as
 *   they are now
 * @throws OperatorError if no delta can continue from `since`
 */
export async function* exportTenant(
  services: Services,
  tenant: TenantApp,
  log: Logger,
  since?: string,
): AsyncGenerator<Json> {
  const { database } = services
  const position = await readDeltaEnd(database, tenant.id, since)
  const range = since === undefined ? undefined : { tenantAppId: tenant.id, since }
  const readPages = pagesOf(services, tenant, log)

  if (range) {
    for (const { name, deletion } of domain) {
      if (!deletion?.event) continue
      for await (const ids of changedResources(database, range, [deletion.event])) yield* deletionsOf(name, ids)
    }
  }
  for (const { name, transfer, deletion } of domain) {
    if (!transfer || !('operation' in transfer.export) || !transfer.export.connection) continue
    const { export: ofRecords } = transfer
    const { changedBy = [] } = ofRecords
    const followers = followersOf(name)
    const changed =
      range &&
      (typeof changedBy === 'string' ? changedUsers(database, range) : changedResources(database, range, changedBy))
    for await (const ids of changed ?? [undefined]) {
      const missing = new Set(deletion?.event ? [] : ids)
      for await (const page of readPages(ofRecords, { first: maxPageSize }, ids)) {
        yield* page
        for (const { id } of page) missing.delete(id as string)
        for (const follower of followers) {
          for (const variables of follower.variablesOf(page)) {
            for await (const records of readPages(follower, variables)) yield* records
          }
        }
        for (const { readRecords } of recordsAfter(name)) {
          for await (const records of readRecords(database, tenant.id, page)) yield* records
        }
      }
      yield* deletionsOf(name, missing)
    }
  }
  yield { event: position }
}

function* deletionsOf(name: string, ids: Iterable<string>): Generator<Json> {
  for (const id of ids) yield { deleted: name, id }
}

/** The exports of the resources whose records follow those of another one. */
function followersOf(name: string) {
  return domain.flatMap(({ transfer }) => {
    if (!transfer || !('operation' in transfer.export)) return []
    const { belongsTo } = transfer.export
    return belongsTo?.resource === name ? [{ ...transfer.export, ...belongsTo }] : []
  })
}

/** The exports of the rows that follow a page of another resource. */
function recordsAfter(name: string) {
  return domain.flatMap(({ transfer }) =>
    transfer && 'readRecords' in transfer.export && transfer.export.belongsTo === name ? [transfer.export] : [],
  )
}

/** Creates the reader of pages of records: one page, or all pages of a connection, or its records with some ids. */
function pagesOf(services: Services, tenant: TenantApp, log: Logger) {
  const preparer = createPreparer({ schemas, introspection: false, metrics: services.metrics })
  const viewer = viewerOf(tenant)

  return async function* readPages(
    { operation: text, path, connection, nulls = [], without = [] }: Export,
    variables: Json,
    ids?: readonly string[],
  ): AsyncGenerator<Json[]> {
    const { operation, shape } = storeOperation(preparer, text, path)
    const selected = ids ? { ...services, database: withOnly(services.database, ids) } : services
    let after: unknown
    do {
      const context = createContext(selected, { viewer, log, statements: { statements: 0 } })
      const { data, errors } = await executeOperation({ operation, variables: { ...variables, after }, context })
      if (errors?.[0]) throw errors[0].originalError ?? errors[0]
      const records = encode(shape, valueAt(data ?? {}, path), () => false) as Json[]
      yield records.map((record) => ({
        ...Object.fromEntries(Object.entries(record).filter(([key]) => !without.includes(key))),
        ...Object.fromEntries(nulls.filter((key) => !Object.hasOwn(record, key)).map((key) => [key, null])),
      }))
      const { hasNextPage, endCursor } = (valueAt(data ?? {}, `${connection}.pageInfo`) ?? {}) as Json
      after = hasNextPage === true ? endCursor : undefined
    } while (after !== undefined)
  }
}

/**
 * The database, whose lists have only the rows with some ids. So a delta reads with the operations of a full export.
 */
function withOnly(database: Database, ids: readonly string[]): Database {
  const { reads } = database
  const list: Database['reads']['list'] = (sql, model, owner, request, options) => {
    const where = { AND: [request.where, { id: { in: [...ids] } }] }
    return reads.list(sql, model, owner, { ...request, where }, options)
  }
  return { ...database, reads: Object.assign(Object.create(reads), { list }) }
}

function viewerOf({ id, name }: TenantApp): Viewer {
  return { tenantAppId: id, tenantName: name, keyId: 'export', keyName: 'export', scopes }
}
