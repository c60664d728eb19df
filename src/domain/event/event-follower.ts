import { Interruption } from '@fusion-gateway/gateway-kit'
import type { Event } from './event.ts'
import { maxEvents } from './new-events.ts'
import { formatPosition, isSeenAt, lowestOf, type Position } from './position.ts'

/** How many events a tail keeps. A follower that is further behind reads its own pages. */
const maxRecent = 1_000

interface TailFollower {
  readonly position: string
  wake(): void
}

/** The newest events of a tenant's log, which all its followers share. */
export class TenantTail {
  readonly followers = new Set<TailFollower>()
  /** All events with greater ids, up to `end`, are in the tail. After a crash ids can repeat. */
  start: string
  end: string
  private events: Event[] = []

  /** @param end the id of the last event */
  constructor(end: string) {
    this.start = end
    this.end = end
  }

  add(events: readonly Event[]): void {
    const last = events.at(-1)
    if (!last) return
    this.end = last.id
    this.events.push(...events)
    this.dropReceived()
    for (const { wake } of this.followers) wake()
  }

  /** A page of the events after an id; undefined if the tail no longer has all of them. */
  after(id: string): readonly Event[] | undefined {
    if (id < this.start) return undefined
    const index = this.events.findLastIndex((event) => event.id <= id)
    return this.events.slice(index + 1, index + 1 + maxEvents)
  }

  private dropReceived(): void {
    let received = this.end
    for (const { position } of this.followers) if (position < received) received = position
    const dropped = Math.max(this.events.findLastIndex(({ id }) => id <= received) + 1, this.events.length - maxRecent)
    this.start = this.events.splice(0, dropped).at(-1)?.id ?? this.start
  }
}

/** Receives the events of a tenant, in the order of the log. */
export interface EventFollower {
  readonly start: string
  readonly hasEnded: boolean
  /** @throws Interruption if the feed was closed before the follower ended */
  requireFeed(): void
  /** Returns undefined when the follower has ended. @throws Interruption if the feed was closed */
  next(): Promise<readonly Event[] | undefined>
  /** Ends the follower; `next` resolves at once. */
  return(): void
}

interface FollowerOptions {
  /** Reads the events after an id that the tail of the log no longer has, without those that were seen before. */
  readPage(id: string): Promise<readonly Event[]>
  onEnd(): void
}

export function feedClosed(): Interruption {
  return new Interruption('The gateway is stopping.')
}

/** A follower that reads the tail of its tenant's log, which it shares with others. */
export class Follower implements EventFollower {
  private readonly tail: TenantTail
  private readonly options: FollowerOptions
  private readonly seen: Position
  /** The id of the last event that was read for it. */
  position: string
  hasEnded = false
  private isInterrupted = false
  wake = () => {}

  /** @param seen the position after which it receives events */
  constructor(tail: TenantTail, seen: Position, options: FollowerOptions) {
    this.tail = tail
    this.seen = seen
    this.position = lowestOf(seen)
    this.options = options
    tail.followers.add(this)
  }

  get start(): string {
    return formatPosition(this.seen)
  }

  async next(): Promise<readonly Event[] | undefined> {
    while (!this.hasEnded) {
      this.requireFeed()
      const { start } = this.tail
      const events = this.tail.after(this.position) ?? (await this.options.readPage(this.position))
      const last = events.at(-1)
      if (last) {
        this.position = last.id
        const unknown = events.filter(({ id }) => !isSeenAt(this.seen, id))
        if (unknown.length > 0) return this.hasEnded ? undefined : unknown
      } else if (this.position < start) this.position = start
      else await this.woken()
    }
    return undefined
  }

  /** Resolves when there are new events, or when the follower ends. */
  private woken(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve
    })
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
