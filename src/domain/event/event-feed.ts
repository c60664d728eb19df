import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { repeat } from '@fusion-gateway/base'
import type { Payer } from '@fusion-gateway/limits'
import type { Driver, Listener } from '@fusion-gateway/sql'
import type { Logger } from '@fusion-gateway/telemetry'
import { type EventFollower, Follower, feedClosed, TenantTail } from './event-follower.ts'
import { type EventLog, type EventSelection, positionNotFound } from './event-log.ts'
import { maxEvents } from './new-events.ts'
import { lowestOf, parsePosition, positionAt } from './position.ts'

/** How long the log waits until the feed looks whether it waits for a transaction of another database. */
const otherMilliseconds = 1_000

const stallMilliseconds = 30_000

/** Called with the seconds for which the log has waited for a transaction, and with 0 when it waits no longer. */
type OnStall = (seconds: number, writer?: string) => void

function createStallWatch(onStall: OnStall, log: Pick<EventLog, 'describeOldestWriter' | 'passOtherDatabases'>) {
  let since: ReadonlyMap<string, number> = new Map()
  let isReported = false
  return {
    end(): void {
      if (isReported) onStall(0)
    },
    /**
     * @param places how far the log can be read on each server where it waits: a later transaction has begun there, and
     *   it stays there
     * @returns whether the log can be read further
     */
    async note(places: readonly string[]): Promise<boolean> {
      const now = performance.now()
      since = new Map(places.map((place) => [place, since.get(place) ?? now]))
      const stalled = now - Math.min(now, ...since.values())
      if (stalled < stallMilliseconds) {
        if (isReported) onStall(0)
        isReported = false
        return stalled >= otherMilliseconds && log.passOtherDatabases()
      }
      // The description is read once, the duration is reported each time.
      onStall(stalled / 1_000, isReported ? undefined : await log.describeOldestWriter())
      isReported = true
      return log.passOtherDatabases()
    },
  }
}

/** Where a follower starts that must not miss events which are written but wait for older transactions. */
export const complete = Symbol('complete')

export interface FeedOptions {
  readonly log: EventLog
  readonly driver: Pick<Driver, 'listen' | 'isDistributed' | 'isShared'>
  /** Runs the reads of followers that are behind, fairly. */
  readonly queue: { run<Result>(payer: Payer, work: () => Promise<Result>): Promise<Result> }
  readonly onStall: OnStall
  /** Called when the log was read, and with false when it is no longer followed. */
  readonly onRead?: (isRead: boolean) => void
  readonly onError: (error: unknown) => void
}

/** After what the feed calls back. */
type Watch = 'events' | 'reads'

export type EventFeed = ReturnType<typeof createEventFeed>

/** The channel on which the triggers of the log notify (migration event_log). */
const channel = 'event_written'

/** The longest pause after reads that failed. */
const maxPauseAfterFailure = 5_000

/** How often the log is read without an announcement, which a rollback can prevent; rare in one process. */
const pollMilliseconds = { shared: 500, own: 2_500 }
/**
 * How long a process waits after an announcement before it reads. For about as long other transactions do not announce
 * their events (migration rarer_announcements). Some of these end later, so the process reads again after the same
 * pause, twice that pause, and so on.
 */
const restMilliseconds = 10

/**
 * Creates the feed of a process: it reads the log once for all followers, over any connection to the primary. It
 * listens on one connection, and reads only while someone follows.
 */
export function createEventFeed({ log, driver, queue, onStall, onRead = () => undefined, onError }: FeedOptions) {
  const maxPause = driver.isShared ? pollMilliseconds.shared : pollMilliseconds.own
  const tails = new Map<string, TenantTail>()
  const followers = new Set<Follower>()
  const watchers = new Set<{ readonly call: () => void; readonly after: Watch }>()
  const closing = new AbortController()
  const announcements = createAnnouncements(driver, closing.signal)
  let reading: Promise<void> | undefined

  const pause = (milliseconds: number) =>
    sleep(milliseconds, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)

  async function read(): Promise<void> {
    const stall = createStallWatch(onStall, log)
    let completeBefore = ''
    let delay = restMilliseconds
    let isFailing = false
    onRead(true)
    for (let isAnnounced = true; tails.size + watchers.size > 0 && !closing.signal.aborted; ) {
      const announced = announcements.next()
      try {
        const { horizons, isFull, failure } = await readNew(log, [...tails])
        // A server of some tenants has failed. It is reported once, and the others go on.
        if (failure !== undefined && !isFailing) onError(failure)
        isFailing = failure !== undefined
        onRead(true)
        const isFurther = await stall.note(
          horizons.filter(({ complete, begun }) => complete < begun).map(({ complete }) => complete),
        )
        delay = isAnnounced || isFull || isFurther ? restMilliseconds : Math.min(2 * delay, maxPause)
        const complete = horizons.map((horizon) => horizon.complete).join(' ')
        // Transactions that did not announce their events may have ended. Those on other servers announce none here.
        const isNew = isAnnounced || complete !== completeBefore || driver.isDistributed?.()
        for (const { call, after } of watchers) if (isNew || after === 'reads') call()
        completeBefore = complete
      } catch (error) {
        onError(error)
        delay = Math.min(2 * Math.max(delay, maxPause), maxPauseAfterFailure)
      }
      isAnnounced = await Promise.race([announced, pause(delay).then(() => false)])
      if (isAnnounced) await pause(restMilliseconds)
    }
    stall.end()
    onRead(false)
    reading = undefined
  }

  return {
    read: (payer: Payer, selection: Omit<EventSelection, 'tenantAppId'>) =>
      queue.run(payer, () => log.read({ ...selection, tenantAppId: payer.tenantAppId })),

    /**
     * @param after the position that the follower knows, or the id of its last event. Without it, the follower starts
     *   now, or, if it is `complete`, after the last event that can be read now: later ones wait for older transactions
     * @param onPage called before each page that is read for this follower alone, because it is far behind
     * @throws GatewayError BAD_USER_INPUT if `after` is not a position in the log. Reading throws it if later events
     *   have been removed
     * @throws Interruption if the feed was closed
     * @throws if the database cannot be reached
     */
    async follow(
      payer: Payer,
      after?: string | typeof complete,
      onPage?: () => Promise<unknown> | undefined,
    ): Promise<EventFollower> {
      const { tenantAppId } = payer
      await announcements.listen()
      const end = await log.readEnd(tenantAppId)
      const lowest = lowestOf(positionAt(end, {}))
      const now = after === complete ? { last: lowest, running: [] } : positionAt(end, payer)
      const position = typeof after === 'string' ? parsePosition(after) : now
      if (!position || position.last >= end.begun) throw positionNotFound()
      const tail = tails.get(tenantAppId) ?? new TenantTail(lowest)
      tails.set(tenantAppId, tail)
      const follower: Follower = new Follower(tail, position, {
        async readPage(id) {
          await onPage?.()
          const unseenAt = id < position.last ? position : undefined
          return queue.run(payer, () => log.read({ tenantAppId, after: id, unseenAt, limit: maxEvents }))
        },
        onEnd() {
          followers.delete(follower)
          if (tail.followers.size === 0 && tails.get(tenantAppId) === tail) tails.delete(tenantAppId)
        },
      })
      followers.add(follower)
      if (closing.signal.aborted) follower.interrupt()
      else reading ??= read()
      return follower
    },

    /**
     * Calls back when events may have been written, of whichever tenant.
     *
     * @param after `reads`: calls back after each read of the log, also those that find nothing. An event that was not
     *   announced can be visible then, although it cannot be read yet, because an older transaction runs
     * @returns stops it
     * @throws if the database cannot be reached
     */
    async watch(callBack: () => void, after: Watch = 'events'): Promise<() => void> {
      await announcements.listen()
      // The same function can be called for several who watch, of whom one stops.
      const watcher = { call: callBack, after }
      watchers.add(watcher)
      reading ??= read()
      return () => void watchers.delete(watcher)
    },

    async close(): Promise<void> {
      closing.abort()
      for (const follower of followers) follower.interrupt()
      await reading
      await announcements.close()
    },
  }
}

/** Listens to what transactions announce that write events. */
function createAnnouncements(driver: Pick<Driver, 'listen'>, closed: AbortSignal) {
  let listening: Promise<Listener> | undefined
  let announce = () => {}
  return {
    async listen(): Promise<void> {
      if (closed.aborted) throw feedClosed()
      listening ??= driver.listen(channel, { onMessage: () => announce(), onGap: () => announce() })
      try {
        await listening
      } catch (error) {
        // The next follower tries again.
        listening = undefined
        throw error
      }
    },
    next: () =>
      new Promise<true>((resolve) => {
        announce = () => resolve(true)
      }),
    async close(): Promise<void> {
      await (await listening?.catch(() => undefined))?.close()
    },
  }
}

async function readNew(log: EventLog, tails: readonly (readonly [string, TenantTail])[]) {
  const { horizons, ofTenant, failure } = await log.readNew(
    tails.map(([tenantAppId, { end }]) => ({ tenantAppId, end })),
  )
  let isFull = false
  for (const [tenantAppId, tail] of tails) {
    const events = ofTenant.get(tenantAppId) ?? []
    tail.add(events)
    isFull ||= events.length === maxEvents
  }
  return { horizons, isFull, failure }
}

const listenAgainMilliseconds = 5_000

interface WatchOptions {
  readonly events: Pick<EventFeed, 'watch'>
  readonly log: Logger
  readonly signal: AbortSignal
  readonly onEvents: () => void
}

/**
 * Watches the event log until a worker stops. It only makes the worker faster: polling finds work that was not
 * announced.
 */
export async function keepWatching({ events, log, signal, onEvents }: WatchOptions): Promise<void> {
  const watch = async () => {
    const stopWatching = await events.watch(onEvents)
    if (!signal.aborted) await once(signal, 'abort')
    stopWatching()
    return 0
  }
  await repeat(watch, {
    signal,
    onError(error) {
      log.warn({ err: error }, 'changes are not announced to this worker; it polls for them')
      return listenAgainMilliseconds
    },
  })
}
