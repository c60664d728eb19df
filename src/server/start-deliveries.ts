import { createValidKeys } from '@fusion-gateway/auth'
import { createOperations, type Services } from '@fusion-gateway/gateway-kit'
import { createOperationLimits, type RateLimit } from '@fusion-gateway/limits'
import type { Logger, TraceWork, Tracing } from '@fusion-gateway/telemetry'
import type { Config } from '../config.ts'
import { schemas } from '../domain/schema.graphql.ts'
import { type Attempt, createAttempt } from '../domain/webhook/delivery/attempt.ts'
import { type DelivererOptions, startDeliverer } from '../domain/webhook/delivery/deliverer.ts'
import { createSender } from '../domain/webhook/delivery/send.ts'
import { createRunQuery } from '../domain/webhook/webhook-query.graphql.ts'

export interface StartDeliveriesOptions
  extends Pick<
    Config,
    'fetchPrivateNetworks' | 'keyCacheMilliseconds' | 'maxSubscriptionsPerKey' | 'maxUnsentMibPerKey'
  > {
  readonly logger: Logger
  readonly tracing?: Tracing | undefined
  /** The points of tenants and keys, which pay for the queries of their webhooks. */
  readonly rateLimit: RateLimit
  /** They look up the hosts of webhooks, instead of those of the system. */
  readonly nameServers?: readonly string[]
}

const timeoutMilliseconds = 15_000

/**
 * Starts to deliver events to webhooks, if this process has the key to their secrets.
 *
 * @returns stops it; see `startDeliverer`
 */
export function startDeliveries(services: Services, options: StartDeliveriesOptions) {
  const { deliveries, events, database, webhooks } = services
  const { logger: log, fetchPrivateNetworks: allowPrivateNetworks, keyCacheMilliseconds, nameServers } = options
  if (!webhooks.secrets) {
    log.warn({}, 'SECRET_KEYS is not set: this process delivers no events to webhooks')
    return undefined
  }
  const limits = createOperationLimits({ ...options, queues: services.queues })
  // Without a memory of responses: a query follows a change, so no response would be right the next time.
  const operations = createOperations({ ...options, schemas, services, limits, introspection: false })
  const keys = createValidKeys(database, log, keyCacheMilliseconds)
  const { send, close } = createSender({ allowPrivateNetworks, timeoutMilliseconds, nameServers })
  const runQuery = createRunQuery({ services, operations, log })
  const attempt = createAttempt({ services, runQuery, keys, secrets: webhooks.secrets, send, log })
  const { sql } = database
  const traceWork = options.tracing?.workTraces(sql)
  const traced: DelivererOptions['attempt'] = traceWork
    ? traceAttempts(attempt, traceWork)
    : (claimed, signal) => attempt(claimed, signal, sql)
  // Each look costs milliseconds in the embedded database, and what this process writes is announced.
  const pollMilliseconds = database.driver.isShared ? 1_000 : 2_500
  const stop = startDeliverer({ deliveries, events, attempt: traced, log, pollMilliseconds })
  return async (graceMilliseconds: number) => {
    await stop(graceMilliseconds)
    await keys.settle()
    await close()
  }
}

/** Traces each attempt. The error of one that failed is the status of the endpoint's response, if there was one. */
function traceAttempts(attempt: Attempt, trace: TraceWork): DelivererOptions['attempt'] {
  return (claimed, signal) => {
    const { id, tenantAppId: tenant, attempt: number } = claimed
    const work = { operation: 'send', queue: 'webhooks', id, tenant, attempt: number } as const
    return trace(
      work,
      (sql) => attempt(claimed, signal, sql),
      ({ status, responseStatus }) => (status === 'SUCCEEDED' ? undefined : String(responseStatus ?? 'NOT_DELIVERED')),
    )
  }
}
