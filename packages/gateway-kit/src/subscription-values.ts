import { GatewayError } from '@fusion-gateway/base'

/**
 * Thrown by the events of a subscription that breaks off before its end, because the gateway or the database stops. Its
 * client has to subscribe again, and clients do so only if nothing completes the subscription: each transport ends its
 * connection instead. Events that return have ended. docs/events.md lists both.
 */
export class Interruption extends GatewayError {
  constructor(message: string) {
    super('SERVICE_UNAVAILABLE', message)
  }
}

/**
 * What the resolver of a subscription returns. `next` throws an `Interruption` if the values break off before their
 * end.
 */
export interface SubscriptionValues<Value> extends AsyncIterator<Value, undefined> {
  /** Ends the values at once, also while the next one is awaited. */
  return(): Promise<IteratorResult<Value, undefined>>
  /** The position in the event log after which it sends events, if a client can continue after one. */
  readonly position?: string
  /** What a client that has received the values so far does to go on later, as a sentence. */
  continuation(): string
}
