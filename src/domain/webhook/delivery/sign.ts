import { createHmac } from 'node:crypto'
import { secretPrefix } from '../secrets.ts'

/** What is sent to an endpoint: one JSON text, which stays the same between signing and sending. */
export interface SignedMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Signs a message.
 *
 * @param id the same for each attempt to send the message
 * @param secrets the signature has one part for each
 * @see
 *   https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#webhook-headers-sending-metadata-to-consumers
 */
export function signMessage(id: string, body: string, secrets: readonly string[], now = Date.now()): SignedMessage {
  const timestamp = String(Math.floor(now / 1_000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'fusion-gateway',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
  return { headers, body }
}
