import type { Driver, Listener } from '../../../engine/db/driver.ts'
import type { JobStatus } from '../../../engine/db/generated/prisma/enums.ts'

/** A change of a job, made by any process on the same database. */
export interface JobChange {
  readonly tenantAppId: string
  readonly id: string
  /** Null if the job was removed. */
  readonly status: JobStatus | null
  /** The state before; null if the job is new. */
  readonly before: JobStatus | null
}

/** The changes since the follower asked last. */
export interface ChangeBatch {
  readonly changes: readonly JobChange[]
  /** Whether changes may have been missed. The follower must then read its jobs again. */
  readonly hasGap: boolean
}

/** The changes of jobs. Each process listens on one connection, from the first follower on. */
export type JobChanges = ReturnType<typeof createJobChanges>

/** Receives changes. It keeps them until it is asked. */
export type Follower = Pick<ChangeQueue, 'hasEnded' | 'next' | 'return'>

/** The channel of the trigger that announces changes (prisma/migrations). */
const channel = 'job_changed'

/** Creates the changes of one database. */
export function createJobChanges(driver: Pick<Driver, 'listen'>) {
  const followers = new Set<ChangeQueue>()
  let listening: Promise<Listener> | undefined
  let isClosed = false

  function listen(): Promise<Listener> {
    listening ??= driver
      .listen(channel, {
        onMessage(payload) {
          const change = readChange(payload)
          if (!change) return addGap()
          for (const follower of followers) follower.add(change)
        },
        onGap: addGap,
      })
      .catch((error: unknown) => {
        // The next follower tries again.
        listening = undefined
        throw error
      })
    return listening
  }

  function addGap(): void {
    for (const follower of followers) follower.addGap()
  }

  return {
    /**
     * Follows the changes that match, from the moment this resolves.
     *
     * @throws if the database cannot be reached
     */
    async follow(matches: (change: JobChange) => boolean): Promise<Follower> {
      const follower: ChangeQueue = new ChangeQueue(matches, () => followers.delete(follower))
      if (!isClosed) await listen()
      if (isClosed) follower.return()
      else followers.add(follower)
      return follower
    },

    /** Ends all followers. */
    async close(): Promise<void> {
      isClosed = true
      for (const follower of followers) follower.return()
      await (await listening?.catch(() => undefined))?.close()
    },
  }
}

type Announcement = [tenantAppId: string, id: string, status: JobStatus | null, before: JobStatus | null]

/** Any user of the database may notify the channel. Returns undefined for a payload that the trigger cannot have written. */
function readChange(payload: string): JobChange | undefined {
  try {
    const [tenantAppId, id, status, before] = JSON.parse(payload) as Announcement
    return { tenantAppId, id, status, before }
  } catch {
    return undefined
  }
}

export const maxChanges = 500

/** Keeps at most one change per job, however slow its reader is. */
class ChangeQueue {
  private readonly matches: (change: JobChange) => boolean
  private readonly onEnd: () => void
  private readonly changes = new Map<string, JobChange>()
  private hasGap = false
  private wake: (() => void) | undefined
  hasEnded = false

  constructor(matches: (change: JobChange) => boolean, onEnd: () => void) {
    this.matches = matches
    this.onEnd = onEnd
  }

  add(change: JobChange): void {
    if (!this.matches(change)) return
    const key = `${change.tenantAppId}/${change.id}`
    // Several changes of a job become one: from its first state to its last.
    const first = this.changes.get(key)
    this.changes.set(key, first ? { ...change, before: first.before } : change)
    this.wake?.()
  }

  addGap(): void {
    this.hasGap = true
    this.wake?.()
  }

  /** Waits for changes. */
  async next(): Promise<IteratorResult<ChangeBatch, undefined>> {
    while (!this.hasEnded && !this.hasGap && this.changes.size === 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.wake = resolve
      await promise
    }
    if (this.hasEnded) return { done: true, value: undefined }
    const taken = [...this.changes].slice(0, maxChanges)
    for (const [key] of taken) this.changes.delete(key)
    const batch = { changes: taken.map(([, change]) => change), hasGap: this.hasGap }
    this.hasGap = false
    return { done: false, value: batch }
  }

  /** Ends the follower; `next` resolves at once. */
  return(): void {
    this.hasEnded = true
    this.onEnd()
    this.wake?.()
  }
}
