import type { KeyRing, Viewer } from '@fusion-gateway/auth'
import type { IsBlocked } from '@fusion-gateway/network'
import { one } from '@fusion-gateway/prisma-trees'
import { idsWithPrefix } from '@fusion-gateway/sql'

export const webhookIds = idsWithPrefix('whk')

export const webhookById = one('Webhook', 'id')

/** The states of a delivery, and what they mean. */
export const deliveryStatuses = {
  PENDING: 'It waits for its first or next attempt.',
  RUNNING: 'A worker is sending it.',
  SUCCEEDED: 'The endpoint responded with a status from 200 to 299.',
  FAILED: 'No further attempt is made.',
} as const

export type DeliveryStatus = keyof typeof deliveryStatuses

/**
 * Checks the query of a webhook, in the queue of steps.
 *
 * @throws GatewayError BAD_USER_INPUT for `query` if it is something else, is invalid, costs too much, needs scopes
 *   that the viewer does not have, or has arguments that are always rejected
 */
export type CheckQuery = (viewer: Viewer, text: string) => Promise<void>

/** What the requests about webhooks need besides the database. */
export interface WebhookServices {
  /** Encrypts the secrets of webhooks. Undefined if the operator has set no key: then no webhook can be created. */
  readonly secrets: KeyRing | undefined
  readonly checkQuery: CheckQuery
  /** Whether deliveries to a URL would be refused because of its address. */
  readonly isBlocked: IsBlocked
}
