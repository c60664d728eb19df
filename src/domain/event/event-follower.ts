import { Interruption } from '../../engine/interruption.ts'
import type { Event } from './event.ts'
import type { TenantTail } from './tenant-tail.ts'

/** Receives the events of a tenant, in the order of the log. */
export interface EventFollower {
  /** The id of the last event that was read for it. */
  readonly position: string
  /** Whether it was ended. */
  readonly hasEnded: boolean
  /** @throws Interruption if the feed was closed before the follower ended */
  requireFeed(): void
  /**
   * Waits for events. Returns undefined when the follower has ended.
   *
   * @throws Interruption if the feed was closed
   */
  next(): Promise<readonly Event[] | undefined>
  /** Ends the follower; `next` resolves at once. */
  return(): void
}

interface FollowerOptions {
  /** Whether an event is one from before the follower began, which it does not get. */
  isBefore(id: string): boolean
  /** Reads the events after a position that the tail of the log no longer has. */
  readPage(position: string): Promise<readonly Event[]>
  onEnd(): void
}

/** The interruption of those who read when the feed is closed. */
export function feedClosed(): Interruption {
  return new Interruption('The gateway is stopping.')
}

/** A follower that reads the tail of its tenant's log, which it shares with others. */
export class Follower implements EventFollower {
  private readonly tail: TenantTail
  private readonly options: FollowerOptions
  position: string
  hasEnded = false
  private isInterrupted = false
  wake = () => {}

  constructor(tail: TenantTail, position: string, options: FollowerOptions) {
    this.tail = tail
    this.position = position
    this.options = options
    tail.followers.add(this)
  }

  async next(): Promise<readonly Event[] | undefined> {
    while (!this.hasEnded) {
      this.requireFeed()
      const { start } = this.tail
      const events = this.tail.after(this.position) ?? (await this.options.readPage(this.position))
      const last = events.at(-1)
      if (last) {
        this.position = last.id
        const unknown = events.filter(({ id }) => !this.options.isBefore(id))
        if (unknown.length > 0) return this.hasEnded ? undefined : unknown
      } else if (this.position < start) this.position = start
      else {
        await new Promise<void>((resolve) => {
          this.wake = resolve
        })
      }
    }
    return undefined
  }

  interrupt(): void {
    this.isInterrupted = !this.hasEnded
    this.wake()
  }

  requireFeed(): void {
    if (this.isInterrupted) throw feedClosed()
  }

  return(): void {
    this.hasEnded = true
    this.tail.followers.delete(this)
    this.wake()
    this.options.onEnd()
  }
}
