import type { KeyRing, ValidKeys, Viewer } from '@fusion-gateway/auth'
import { GatewayError } from '@fusion-gateway/base'
import type { Services } from '@fusion-gateway/gateway-kit'
import type { Sql } from '@fusion-gateway/sql'
import type { Logger } from '@fusion-gateway/telemetry'
import { secretOwnerOf } from '../secrets.ts'
import { type AttemptEnd, type ClaimedDelivery, createDeliveryStore, type SentEvent } from './delivery-store.ts'
import { payloadOf } from './payload.ts'
import { type Send, type SendResult, signMessage } from './send.ts'

const minute = 60
const hour = 60 * minute

/** How long to wait after each failed attempt, in seconds. */
const delays = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]
const maxRetryAfter = 24 * hour

/** The seconds until the next attempt: up to twice the delay, and what the endpoint asks for. Null: none is left. */
function retryDelay(attempt: number, pauseSeconds = 0): number | null {
  const delay = delays[attempt - 1]
  return delay === undefined ? null : Math.max(delay * (1 + Math.random()), pauseSeconds)
}

/** Returns the data of the query of a webhook, or why it failed. @throws GatewayError if it is not executed now */
export type RunQuery = (
  viewer: Viewer,
  text: string,
  id: string,
) => Promise<{ readonly data: unknown } | { readonly error: string }>

export interface AttemptOptions {
  readonly services: Pick<Services, 'metrics'>
  readonly runQuery: RunQuery
  readonly keys: Pick<ValidKeys, 'byId'>
  readonly secrets: KeyRing
  readonly send: Send
  readonly log: Logger
}

/** Makes an attempt to deliver an event, with the statements of `sql`. Rejects only if the database fails. */
export type Attempt = (claimed: ClaimedDelivery, signal: AbortSignal, sql: Sql) => Promise<AttemptEnd>

/** Why the gateway disables a webhook: the label of the metric, and the text that clients see. */
const reasons = {
  gone: 'The endpoint responded with 410 Gone.',
  failing: 'Every attempt of the last five days has failed.',
  key: 'The API key that made the webhook is no longer valid.',
}

/** How long a delivery waits that could not be tried now, in seconds. */
const postponeSeconds = 5

export function createAttempt({ services, runQuery, keys, secrets, send, log }: AttemptOptions): Attempt {
  const { metrics } = services

  async function disable(sql: Sql, { webhook }: ClaimedDelivery, reason: keyof typeof reasons): Promise<void> {
    if (!(await createDeliveryStore(sql).disable(webhook, reasons[reason]))) return
    metrics.webhooksDisabled.inc({ reason })
    log.warn({ webhook: webhook.id, reason: reasons[reason] }, 'a webhook was disabled')
  }

  /** Signs and sends an event. Returns why it cannot be sent now, if that is not because of the endpoint. */
  async function sendSigned(
    { webhook }: ClaimedDelivery,
    event: SentEvent,
    viewer: Viewer,
    signal: AbortSignal,
  ): Promise<SendResult | GatewayError> {
    try {
      const allowed = { ...viewer, scopes: viewer.scopes.filter((scope) => webhook.scopes.includes(scope)) }
      const result = webhook.query === null ? {} : await runQuery(allowed, webhook.query, event.resourceId)
      if ('error' in result) return notSent(`the query failed: ${result.error}`)
      const decrypted = webhook.secrets.map((stored) => secrets.decrypt(stored, secretOwnerOf(webhook)))
      const body = 'data' in result ? payloadOf(event, result.data) : payloadOf(event)
      return await send(webhook.url, signMessage(event.id, body, decrypted), signal)
    } catch (error) {
      if (error instanceof GatewayError && error.code !== 'TOO_EXPENSIVE') {
        if (error.code === 'SERVICE_UNAVAILABLE') log.warn({ err: error, webhook: webhook.id }, 'an event waits')
        return error
      }
      log.warn({ err: error, webhook: webhook.id }, 'an event could not be sent')
      return notSent((error as Error).message)
    }
  }

  async function noteResult(sql: Sql, claimed: ClaimedDelivery, { isAccepted, status }: SendResult): Promise<void> {
    const deliveries = createDeliveryStore(sql)
    const { webhook } = claimed
    if (isAccepted) {
      if (webhook.isFailing) await deliveries.noteSuccess(webhook)
    } else if (status === 410) await disable(sql, claimed, 'gone')
    else if (await deliveries.noteFailure(webhook)) await disable(sql, claimed, 'failing')
  }

  return async (claimed, signal, sql) => {
    const { event, webhook, attempt } = claimed
    if (!event) return ended('FAILED', { error: 'the event is no longer kept' })
    const viewer = await keys.byId(sql, webhook.tenantAppId, webhook.keyId).catch(refusal)
    if (!viewer) {
      await disable(sql, claimed, 'key')
      return postponed(0)
    }
    const result = viewer instanceof GatewayError ? viewer : await sendSigned(claimed, event, viewer, signal)
    if (signal.aborted) return postponed(0)
    if (result instanceof GatewayError) {
      metrics.webhookDeliveries.inc({ outcome: 'postponed' })
      return postponed(Number(result.headers['retry-after'] ?? postponeSeconds), result.message)
    }
    await noteResult(sql, claimed, result)
    metrics.webhookDeliveries.inc({ outcome: result.isAccepted ? 'succeeded' : 'failed' })
    const { status: responseStatus, error } = result
    if (result.isAccepted) return ended('SUCCEEDED', { responseStatus })
    const pauseSeconds = Math.min(result.retryAfterSeconds ?? 0, maxRetryAfter)
    if (pauseSeconds > 0) await createDeliveryStore(sql).pause(webhook, pauseSeconds)
    const delaySeconds = retryDelay(attempt, pauseSeconds)
    return ended(delaySeconds === null ? 'FAILED' : 'PENDING', { responseStatus, error, delaySeconds })
  }
}

/** Returns the error of a tenant that was suspended after the claim: its event waits. @throws any other error */
function refusal(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  throw error
}

const maxErrorLength = 500

function notSent(error: string): SendResult {
  return { isAccepted: false, status: null, error: error.slice(0, maxErrorLength), retryAfterSeconds: undefined }
}

function ended(status: AttemptEnd['status'], others: Partial<AttemptEnd> = {}): AttemptEnd {
  return { responseStatus: null, error: null, delaySeconds: null, isFree: false, ...others, status }
}

/** The end of an attempt in which the endpoint was not asked. */
function postponed(delaySeconds: number, error: string | null = null): AttemptEnd {
  return ended('PENDING', { delaySeconds, error, isFree: true })
}
