import type { SubscriptionValues } from '@fusion-gateway/gateway-kit'
import type { Event } from './event.ts'
import type { EventFollower } from './event-follower.ts'

export interface LiveValues<Value> extends SubscriptionValues<Value> {
  [Symbol.asyncIterator](): LiveValues<Value>
}

interface LiveOptions<Value> {
  /** Reads the first value. Without it, the first value comes with the first events. */
  readonly first?: (() => Promise<Value>) | undefined
  /** The value after events, or several values; none if they do not concern it. */
  readonly after: (events: readonly Event[]) => Promise<readonly Value[]>
  /**
   * The id of the event that a value is, for a client that continues after it. Without it, a client subscribes again.
   */
  readonly eventIdOf?: (value: Value) => string
}

/**
 * The values of a subscription that follows the log. An iterator, because a generator that waits for events cannot be
 * ended before there are some.
 */
export function liveValues<Value>(
  follower: EventFollower,
  { first, after, eventIdOf }: LiveOptions<Value>,
): LiveValues<Value> {
  let readFirst = first
  const pending: Value[] = []
  let lastPosition = follower.start

  async function read(): Promise<boolean> {
    if (readFirst) {
      pending.push(await readFirst())
      readFirst = undefined
      return true
    }
    const events = await follower.next()
    if (!events) return false
    pending.push(...(await after(events)))
    return true
  }

  const values: LiveValues<Value> = {
    async next() {
      try {
        while (pending.length === 0 && !follower.hasEnded) if (!(await read())) break
        follower.requireFeed()
      } catch (error) {
        follower.return()
        throw error
      }
      const [value] = pending.splice(0, 1)
      if (value !== undefined && !follower.hasEnded) {
        if (eventIdOf) lastPosition = eventIdOf(value)
        return { done: false, value }
      }
      follower.return()
      return { done: true, value: undefined }
    },
    async return() {
      follower.return()
      return { done: true, value: undefined }
    },
    ...(eventIdOf && { position: follower.start }),
    continuation: () => (eventIdOf ? `Continue after ${lastPosition}.` : 'Subscribe again.'),
    [Symbol.asyncIterator]: () => values,
  }
  return values
}
