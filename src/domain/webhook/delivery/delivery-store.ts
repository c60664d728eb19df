import { type Sql, type Statement, sumOfBatches, sumOfTenants } from '@fusion-gateway/sql'
import type { Event } from '../../event/event.ts'
import type { DeliveryStatus } from '../webhook.ts'
import * as statements from './statements.ts'

/** How many tenants are served before deliveries are claimed again. */
const maxTenants = 50

export interface WebhookKey {
  readonly tenantAppId: string
  readonly id: string
}

export interface SentEvent
  extends Pick<Event, 'id' | 'type' | 'resourceId' | 'userId' | 'keyId' | 'requestId' | 'createdAt'> {
  /** Absent if the event does not name what it changed. */
  readonly changedFields?: readonly string[]
}

/** A delivery that this worker holds until its lease ends, with everything that its attempt needs. */
export interface ClaimedDelivery {
  readonly tenantAppId: string
  readonly id: string
  readonly leaseToken: string
  /** The number of this attempt, from 1. */
  readonly attempt: number
  /** Undefined if the event has been removed. */
  readonly event: SentEvent | undefined
  readonly webhook: WebhookKey & {
    readonly url: string
    readonly query: string | null
    readonly keyId: string
    readonly scopes: readonly string[]
    /** Encrypted: the secret and, for 24 hours after a rotation, the one before. */
    readonly secrets: readonly string[]
    /** Whether the last attempt to it has failed. */
    readonly isFailing: boolean
  }
}

export interface AttemptEnd {
  readonly status: DeliveryStatus
  readonly responseStatus: number | null
  readonly error: string | null
  /** The seconds until the next attempt; null if there is none. */
  readonly delaySeconds: number | null
  /** Whether it does not count, because the endpoint was not asked. */
  readonly isFree: boolean
}

export type EndedDelivery = Pick<ClaimedDelivery, 'tenantAppId' | 'id' | 'leaseToken'> & AttemptEnd

const recorded = ['id', 'leaseToken', 'status', 'responseStatus', 'error', 'delaySeconds', 'isFree'] as const

export type DeliveryStore = ReturnType<typeof createDeliveryStore>

/** Creates the store of deliveries. Each change is one statement, by the clock of the database. */
export function createDeliveryStore(sql: Sql) {
  const keyOf = ({ tenantAppId, id }: WebhookKey) => [tenantAppId, id]

  /** Lists tenants from a random one on, so that no tenant is always the last. */
  async function listInTurn(list: Statement): Promise<string[]> {
    const tenants = (await sql.list(list)).map(([id]) => String(id)).sort()
    const first = Math.floor(Math.random() * tenants.length)
    return [...tenants.slice(first), ...tenants.slice(0, first)]
  }

  return {
    /**
     * Puts new events of some tenants into deliveries, of each at most a page for each webhook. Returns whether there
     * may be more.
     */
    async fanOut(): Promise<boolean> {
      const served = (await listInTurn(statements.listUnread)).slice(0, maxTenants)
      const read = await sumOfTenants(
        sql,
        served.map((tenantAppId) => [tenantAppId]),
        async (tenantAppId, sql) => {
          if (sql.nodes.length > 0) return sql.transact((transaction) => fanOutOnNode(transaction, tenantAppId))
          const [[count] = []] = await sql.query(statements.fanOut, [tenantAppId])
          return Number(count)
        },
      )
      return read > 0
    },
    /** Puts events of a tenant into deliveries of a webhook again. Returns the ids of those that exist. */
    async redeliver(webhook: WebhookKey, eventIds: readonly string[]): Promise<string[]> {
      const rows = await sql.of(webhook.tenantAppId).query(statements.redeliver, [...keyOf(webhook), eventIds])
      return rows.map(([id]) => String(id))
    },
    listDue: () => listInTurn(statements.listDue),
    async claim(tenantAppId: string, limit: number, leaseSeconds: number): Promise<ClaimedDelivery[]> {
      const rows = await sql.of(tenantAppId).query(statements.claim, [tenantAppId, String(limit), String(leaseSeconds)])
      return rows.map(toClaimed)
    },
    /** Makes deliveries due again whose lease has expired, at most 500 of each tenant. */
    releaseExpired: async () =>
      sumOfTenants(sql, await sql.list(statements.listExpired), (tenantAppId, sql) =>
        sql.execute(statements.releaseExpired, [tenantAppId]),
      ),
    nodeOf: (tenantAppId: string) => sql.nodeOf(tenantAppId),
    /** Records the ends of attempts, by tenant. Those of the tenants before one that fails are recorded. */
    async record(ended: readonly EndedDelivery[]): Promise<void> {
      for (const [tenantAppId, own] of Map.groupBy(ended, (delivery) => delivery.tenantAppId)) {
        const columns = recorded.map((name) => own.map((end) => (end[name] === null ? null : String(end[name]))))
        await sql.of(tenantAppId).execute(statements.record, [tenantAppId, ...columns])
      }
    },
    /** Notes that a delivery has succeeded after others have failed. */
    noteSuccess: (webhook: WebhookKey) => sql.of(webhook.tenantAppId).execute(statements.noteSuccess, keyOf(webhook)),
    /** Notes a failed attempt. Returns whether all attempts of the last five days have failed. */
    async noteFailure(webhook: WebhookKey): Promise<boolean> {
      const sqlOfTenant = sql.of(webhook.tenantAppId)
      if ((await sqlOfTenant.execute(statements.noteFailure, keyOf(webhook))) > 0) return false
      return (await sqlOfTenant.query(statements.hasFailedTooLong, keyOf(webhook))).length > 0
    },
    /** Sends nothing to an endpoint for some seconds: to all webhooks of the tenant that have its URL. */
    pause: ({ tenantAppId, url }: ClaimedDelivery['webhook'], seconds: number) =>
      sql.of(tenantAppId).execute(statements.pause, [tenantAppId, url, String(seconds)]),
    /** Disables a webhook that still has the URL and the key of an attempt. Returns whether it was enabled. */
    disable: async ({ url, keyId, ...webhook }: ClaimedDelivery['webhook'], reason: string) =>
      (await sql.of(webhook.tenantAppId).execute(statements.disable, [...keyOf(webhook), reason, url, keyId])) > 0,
    async removeOf(webhook: WebhookKey): Promise<void> {
      while ((await sql.of(webhook.tenantAppId).execute(statements.removeOf, keyOf(webhook))) > 0);
    },
    removeOld: async (): Promise<number> =>
      sumOfTenants(sql, await sql.query(statements.listRemoved), (tenantAppId, sql) =>
        sumOfBatches(statements.pageSize, () => sql.execute(statements.removeOld, [tenantAppId])),
      ),
  }
}

/** Does what the statement `fanOut` does, in a transaction on the node of the tenant. */
async function fanOutOnNode(transaction: Sql, tenantAppId: string): Promise<number> {
  const page = (await transaction.query(statements.readPages, [tenantAppId])).map(
    ([webhook, event, type, isChosen]) => ({
      webhook: String(webhook),
      event: String(event),
      type: String(type),
      isChosen: isChosen === true,
    }),
  )
  const chosen = page.filter(({ isChosen }) => isChosen)
  if (chosen.length > 0) {
    const columns = (['webhook', 'event', 'type'] as const).map((name) => chosen.map((row) => row[name]))
    await transaction.query(statements.insertPages, [tenantAppId, ...columns])
  }
  const last = new Map(page.map(({ webhook, event }) => [webhook, event]))
  if (last.size > 0)
    await transaction.execute(statements.moveCursors, [tenantAppId, [...last.keys()], [...last.values()]])
  return page.length
}

function toClaimed([json]: unknown[]): ClaimedDelivery {
  const { event, ...claimed } = JSON.parse(String(json))
  if (!event) return { ...claimed, event: undefined }
  const { changedFields, createdAt, ...others } = event
  return { ...claimed, event: { ...others, createdAt: new Date(createdAt), ...(changedFields && { changedFields }) } }
}
