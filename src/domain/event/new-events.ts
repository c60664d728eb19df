import type { Database } from '@fusion-gateway/database'
import { statement } from '@fusion-gateway/sql'
import type { Event } from './event.ts'

/** The most events that one statement reads or removes. */
export const maxEvents = 500

/** How many logs of a node are read at a time. The connections of its pool are for requests too. */
const maxTogether = 4

/** The end of a tenant's log as a reader knows it. */
export interface LogEnd {
  readonly tenantAppId: string
  readonly end: string
}

/** How far the log of a server can be read. */
interface Horizon {
  /** All events with smaller ids are visible: their transactions have ended. */
  readonly complete: string
  /** Transactions that have ended wrote smaller ids, and those that begin later write greater ones. */
  readonly begun: string
}

export interface NewEvents {
  readonly ofTenant: ReadonlyMap<string, readonly Event[]>
  /** One of the server; of a distributed database, that of each tenant. */
  readonly horizons: readonly Horizon[]
  /** Why the logs of some tenants, on a server that has failed, could not be read. Those of others have been. */
  readonly failure?: unknown
}

/**
 * Creates the function that reads what is new in the logs of tenants, at most `maxEvents` of each: with one statement
 * for all, or, because each server has its own numbers, with one for each tenant of a distributed database.
 *
 * @param columns of `event`, from which `toEvent` makes an event
 */
export function createNewEvents(
  { sql, driver }: Pick<Database, 'sql' | 'driver'>,
  columns: readonly string[],
  toEvent: (values: readonly unknown[]) => Event,
) {
  const read = [
    'horizon.complete',
    'horizon.begun',
    'event.tenant_app_id',
    ...columns.map((column) => `event.${column}`),
  ]
  const ofAll = statement(`
    SELECT ${read.join(', ')}
    FROM event_horizon() AS horizon LEFT JOIN (
      unnest($1::text[], $2::text[]) AS followed (tenant_app_id, ended)
      CROSS JOIN LATERAL (
        SELECT * FROM event
        WHERE event.tenant_app_id = followed.tenant_app_id AND event.id > followed.ended
          AND event.id < (SELECT complete FROM event_horizon())
        ORDER BY event.id LIMIT ${maxEvents}
      ) AS event
    ) ON true ORDER BY event.tenant_app_id, event.id`)
  const ofOne = statement(`
    SELECT ${read.join(', ')}
    FROM ${horizonOf('$1')} LEFT JOIN LATERAL (
      SELECT * FROM event WHERE event.tenant_app_id = $1 AND event.id > $2 AND event.id < horizon.complete
      ORDER BY event.id LIMIT ${maxEvents}
    ) AS event ON true ORDER BY event.id`)

  const readAll = (ends: readonly LogEnd[]) =>
    sql.query(ofAll, [ends.map(({ tenantAppId }) => tenantAppId), ends.map(({ end }) => end)])

  const readOne = ({ tenantAppId, end }: LogEnd) => sql.of(tenantAppId).query(ofOne, [tenantAppId, end])

  async function readOfNode(ends: readonly LogEnd[]) {
    const read: PromiseSettledResult<unknown[][]>[] = []
    for (let from = 0; from < ends.length; from += maxTogether) {
      read.push(...(await Promise.allSettled(ends.slice(from, from + maxTogether).map(readOne))))
    }
    return read
  }

  async function readEach(ends: readonly LogEnd[]) {
    const ofNodes = Map.groupBy(ends, ({ tenantAppId }) => sql.nodeOf(tenantAppId))
    const read = (await Promise.all([...ofNodes.values()].map(readOfNode))).flat()
    const failure: unknown = read.find((result) => result.status === 'rejected')?.reason
    const pages = read.filter((result) => result.status === 'fulfilled').map(({ value }) => value)
    if (failure !== undefined && pages.length === 0) throw failure
    return { pages, failure }
  }

  return async (ends: readonly LogEnd[]): Promise<NewEvents> => {
    const { pages, failure } = driver.isDistributed?.()
      ? await readEach(ends)
      : { pages: [await readAll(ends)], failure: undefined }
    const horizons = pages.map(([first = []]) => ({ complete: String(first[0]), begun: String(first[1]) }))
    const written = pages.flat().filter(([, , tenantAppId]) => tenantAppId !== null)
    const byTenant = Map.groupBy(written, ([, , tenantAppId]) => tenantAppId as string)
    return {
      horizons,
      ...(failure !== undefined && { failure }),
      ofTenant: new Map([...byTenant].map(([key, values]) => [key, values.map((value) => toEvent(value.slice(3)))])),
    }
  }
}

/**
 * The horizon of the event log on the server that has the rows of a tenant, as items of FROM: `horizon.complete` and
 * `horizon.begun`. A function alone runs on the server that receives the statement; the search for an event that no
 * tenant has makes Citus run both where the tenant's events are. It takes one step in an index.
 *
 * @param tenant the parameter with the tenant
 */
export function horizonOf(tenant: string): string {
  return `(SELECT count(*) FROM event WHERE tenant_app_id = ${tenant} AND id = '') AS routed
    CROSS JOIN LATERAL event_horizon() AS horizon`
}

const readComplete = statement(`SELECT horizon.complete FROM ${horizonOf('$1')}`)

/** Reads the prefix of ids up to which the log of a tenant can be read: the events with smaller ids are visible. */
export async function completeOf({ sql }: Pick<Database, 'sql'>, tenantAppId: string): Promise<string> {
  const [[complete] = []] = await sql.of(tenantAppId).query(readComplete, [tenantAppId])
  return String(complete ?? '')
}
