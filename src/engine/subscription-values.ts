/**
 * What the resolver of a subscription returns. `next` throws an `Interruption` if the values break off before their
 * end.
 */
export interface SubscriptionValues<Value> extends AsyncIterator<Value, undefined> {
  /** Ends the values at once, also while the next one is awaited. */
  return(): Promise<IteratorResult<Value, undefined>>
  /** What a client that has received the values so far does to go on later, as a sentence. */
  continuation(): string
}
