import type { EventType } from '../../event/event.ts'
import type { SentEvent } from './delivery-store.ts'

/** `USER_CREATED` ⇒ `user.created`, as the types of the Standard Webhooks specification. */
export function dottedType(type: EventType): string {
  return type.toLowerCase().replace('_', '.')
}

/**
 * The body of a message, by the Standard Webhooks specification.
 *
 * @param data the result of the webhook's query; the event itself by default
 */
export function payloadOf(event: SentEvent, data: unknown = event): string {
  const { type, createdAt: timestamp, changedFields } = event
  // What is undefined is left out.
  return JSON.stringify({ type: dottedType(type), timestamp, changed_fields: changedFields, data })
}
