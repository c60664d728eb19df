import type { Driver } from '../db/driver.ts'
import type { JobStatus } from '../db/generated/prisma/enums.ts'
import type { Listener } from '../db/listener.ts'

/** A change of a job, made by this process or any other on the same database. */
export interface JobChange {
  readonly tenantAppId: string
  readonly id: string
  /** Null for a job that was removed. */
  readonly status: JobStatus | null
  /** The state before; null for a new job. */
  readonly before: JobStatus | null
}

/** What has happened since it was last asked for. */
export interface JobNews {
  readonly changes: readonly JobChange[]
  /** Changes may have been missed: what the follower knows has to be read again. */
  readonly gap: boolean
}

/** News for one who follows. It keeps what is new until it is asked for. */
export interface News {
  /** Whether there will be no more. */
  readonly ended: boolean
  /** Waits until there is something new. */
  next(): Promise<IteratorResult<JobNews, undefined>>
  /** Ends it, and whoever waits for more: it costs nothing from then on. */
  return(): void
}

/** Tells of every change of a job. One connection a process listens for all who follow, from the first one on. */
export interface JobChanges {
  /**
   * Follows the changes that are of interest, from when this resolves.
   *
   * @throws when the database cannot be reached
   */
  follow(isOfInterest: (change: JobChange) => boolean): Promise<News>
  /** Ends all that follow, as if there was nothing more to tell. */
  close(): Promise<void>
}

/** What the migrations' trigger announces on. */
const channel = 'job_changed'

/** The changes in one database. */
export function createJobChanges(driver: Pick<Driver, 'listen'>): JobChanges {
  const followers = new Set<Follower>()
  let listening: Promise<Listener> | undefined
  let closed = false

  function listen(): Promise<Listener> {
    listening ??= driver
      .listen(channel, {
        onMessage(payload) {
          const change = readChange(payload)
          if (!change) return tellOfGap()
          for (const follower of followers) follower.tell(change)
        },
        onGap: tellOfGap,
      })
      .catch((error: unknown) => {
        // The next one who follows tries again.
        listening = undefined
        throw error
      })
    return listening
  }

  function tellOfGap(): void {
    for (const follower of followers) follower.tellOfGap()
  }

  return {
    async follow(isOfInterest) {
      const follower = new Follower(isOfInterest, () => followers.delete(follower))
      if (!closed) await listen()
      if (closed) follower.return()
      else followers.add(follower)
      return follower
    },

    async close() {
      closed = true
      for (const follower of followers) follower.return()
      await (await listening?.catch(() => undefined))?.close()
    },
  }
}

type Announcement = [tenantAppId: string, id: string, status: JobStatus | null, before: JobStatus | null]

/** Any user of the database may announce on the channel: undefined for what the trigger cannot have written. */
function readChange(payload: string): JobChange | undefined {
  try {
    const [tenantAppId, id, status, before] = JSON.parse(payload) as Announcement
    return { tenantAppId, id, status, before }
  } catch {
    return undefined
  }
}

/** The most changes that are told at once. */
const maxChanges = 500

/** However slow the reader, it holds one entry a job. */
class Follower implements News {
  private readonly isOfInterest: (change: JobChange) => boolean
  private readonly onEnd: () => void
  private readonly changes = new Map<string, JobChange>()
  private gap = false
  private wake: (() => void) | undefined
  ended = false

  constructor(isOfInterest: (change: JobChange) => boolean, onEnd: () => void) {
    this.isOfInterest = isOfInterest
    this.onEnd = onEnd
  }

  tell(change: JobChange): void {
    if (!this.isOfInterest(change)) return
    const key = `${change.tenantAppId}/${change.id}`
    // Of several changes of one job, what counts is where it was first and where it is now.
    const first = this.changes.get(key)
    this.changes.set(key, first ? { ...change, before: first.before } : change)
    this.wake?.()
  }

  tellOfGap(): void {
    this.gap = true
    this.wake?.()
  }

  async next(): Promise<IteratorResult<JobNews, undefined>> {
    while (!this.ended && !this.gap && this.changes.size === 0) {
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
    if (this.ended) return { done: true, value: undefined }
    const told = [...this.changes].slice(0, maxChanges)
    for (const [key] of told) this.changes.delete(key)
    const news = { changes: told.map(([, change]) => change), gap: this.gap }
    this.gap = false
    return { done: false, value: news }
  }

  return(): void {
    this.ended = true
    this.onEnd()
    this.wake?.()
  }
}
