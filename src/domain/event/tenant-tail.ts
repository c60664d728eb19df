import type { Event } from './event.ts'
import { maxEvents } from './new-events.ts'

/** How many events a tail keeps. A follower that is further behind reads its own pages. */
const maxRecent = 1_000

export interface TailFollower {
  /** The id of the last event that it has received. */
  readonly position: string
  /** Called when there are new events. */
  wake(): void
}

/** The newest events of a tenant's log, which all its followers share. */
export class TenantTail {
  readonly followers = new Set<TailFollower>()
  /**
   * All events with greater ids, up to `end`, are in the tail. Both are ids of events: a database that has crashed can
   * number transactions again.
   */
  start: string
  end: string
  private events: Event[] = []

  /** @param end the id of the last event */
  constructor(end: string) {
    this.start = end
    this.end = end
  }

  /** Adds events. */
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
