import type { Database } from '@fusion-gateway/database'
import { createEngineServices, type EngineOptions, type Services } from '@fusion-gateway/gateway-kit'
import { type AllowedNetworks, createAddressCheck } from '@fusion-gateway/network'
import type { Logger } from '@fusion-gateway/telemetry'
import { createEventFeed, type EventFeed } from './event/event-feed.ts'
import { createEventLog } from './event/event-log.ts'
import { createJobStore, type JobStore } from './job/store/job-store.ts'
import type { Backoff } from './job/store/transitions.ts'
import { createUsageReader, type ReadUsage } from './usage/read-usage.ts'
import { createUsageCounts, type UsageCounts } from './usage/usage-counts.ts'
import { createDeliveryStore, type DeliveryStore } from './webhook/delivery/delivery-store.ts'
import type { WebhookServices } from './webhook/webhook.ts'
import { createDocumentCache, createQueryCheck, type DocumentCache } from './webhook/webhook-query.graphql.ts'

declare module '@fusion-gateway/gateway-kit' {
  interface RequestServices {
    readonly events: EventFeed
    readonly webhooks: WebhookServices
    readonly readUsage: ReadUsage
    readonly documents: DocumentCache
    readonly jobs: JobStore
    readonly deliveries: DeliveryStore
  }
}

export interface ServicesOptions extends EngineOptions {
  readonly backoff: Backoff
  readonly fetchPrivateNetworks?: AllowedNetworks
  readonly logger?: Pick<Logger, 'warn'>
}

/** Creates the services of an open database. They send no statement before they are used. */
export function createServices(
  database: Database,
  options: ServicesOptions,
): Services & { readonly usageCounts: UsageCounts } {
  const usageCounts = createUsageCounts()
  const engine = createEngineServices(database, { userModel: 'User', longModels: ['Job'], usageCounts }, options)
  const { metrics, queues } = engine
  const documents = createDocumentCache()
  return {
    ...engine,
    jobs: createJobStore(database, { ...options, metrics }),
    deliveries: createDeliveryStore(database.sql),
    usageCounts,
    documents,
    readUsage: ({ viewer, sql }, read) => queues.searches.run(viewer, () => read(createUsageReader({ sql }))),
    webhooks: {
      secrets: options.keyRing,
      checkQuery: createQueryCheck({ documents, metrics, steps: queues.parsing }),
      isBlocked: createAddressCheck(options.fetchPrivateNetworks ?? false),
    },
    events: createEventFeed({
      log: createEventLog(database),
      driver: database.driver,
      queue: queues.searches,
      onStall(seconds, writer) {
        metrics.eventsStalledSeconds.set(seconds)
        if (writer === undefined) return
        options.logger?.warn({ seconds: Math.round(seconds), writer }, 'events wait for a transaction that stays open')
      },
      onRead: (isRead) => metrics.noteNumbers('events', isRead),
      onError: (error) => options.logger?.warn({ err: error }, 'the event log could not be read; it is tried again'),
    }),
  }
}
