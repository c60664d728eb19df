import { setTimeout as sleep } from 'node:timers/promises'
import { createAlarm, repeat } from '@fusion-gateway/base'
import type { Logger } from '@fusion-gateway/telemetry'
import { type EventFeed, keepWatching } from '../../event/event-feed.ts'
import type { Attempt } from './attempt.ts'
import type { ClaimedDelivery, DeliveryStore, EndedDelivery } from './delivery-store.ts'

export interface DelivererOptions {
  readonly deliveries: DeliveryStore
  readonly events: Pick<EventFeed, 'watch'>
  readonly attempt: (claimed: ClaimedDelivery, signal: AbortSignal) => ReturnType<Attempt>
  readonly log: Logger
  /** How many attempts this process makes at a time. One tenant gets about half of them. */
  readonly concurrency?: number
  /** How often it looks for due deliveries and new events when none are announced. */
  readonly pollMilliseconds?: number
}

const releaseMilliseconds = 5_000
/** How long a worker holds a delivery: longer than an attempt can take. */
const leaseSeconds = 60

/**
 * Starts to deliver the events of all tenants to their webhooks: puts new events into deliveries, and makes the
 * attempts that are due. Any number of processes may do so.
 *
 * @returns stops it: claims nothing more and waits for the attempts that run, at most as long as its argument says, in
 *   milliseconds. Other workers make those that were not finished
 */
export function startDeliverer(options: DelivererOptions): (graceMilliseconds: number) => Promise<void> {
  const { deliveries, events, attempt, log, concurrency = 100, pollMilliseconds = 1_000 } = options
  const running = new Map<string, { readonly tenantAppId: string; readonly ended: Promise<void> }>()
  const alarm = createAlarm()
  const aborting = new AbortController()
  /** One for each server: those of a node that fails do not wait before those of others. */
  const recorders = new Map<string, ReturnType<typeof createRecorder>>()
  const stopping = new AbortController()
  let isAnnounced = true
  const due = createTenantTurns(deliveries.listDue)
  let readsNext = 0
  let releasesNext = 0

  function recorderOf(tenantAppId: string) {
    const node = deliveries.nodeOf(tenantAppId)
    const recorder = recorders.get(node) ?? createRecorder(deliveries, log, aborting.signal)
    recorders.set(node, recorder)
    return recorder
  }

  async function run(claimed: ClaimedDelivery): Promise<void> {
    const { tenantAppId, id, leaseToken } = claimed
    try {
      const end = await attempt(claimed, aborting.signal)
      await recorderOf(tenantAppId).record({ tenantAppId, id, leaseToken, ...end })
    } catch (error) {
      log.warn({ err: error, delivery: id }, 'a delivery failed; it is tried again when its lease ends')
    }
  }

  /** The tenants that have half of the places. */
  function fullTenants(): Set<string> {
    const byTenant = Map.groupBy(running.values(), ({ tenantAppId }) => tenantAppId)
    return new Set([...byTenant].filter(([, own]) => own.length >= concurrency / 2).map(([tenantAppId]) => tenantAppId))
  }

  async function claim(): Promise<boolean> {
    // A part of the places at a time, so that one claim does not give a tenant many more than its half.
    const limit = Math.min(concurrency - running.size, Math.ceil(concurrency / 4))
    if (limit <= 0) return false
    const full = fullTenants()
    const canServe = (tenantAppId: string) => !full.has(tenantAppId)
    const tenants = await due.next(limit, canServe)
    const share = Math.floor(limit / tenants.length)
    // What is claimed of one tenant starts, also if the claim of another one takes long or fails.
    const claims = await Promise.allSettled(
      tenants.map(async (tenantAppId) => start(await deliveries.claim(tenantAppId, share, leaseSeconds))),
    )
    const failed = claims.find(({ status }) => status === 'rejected')
    if (failed) throw (failed as PromiseRejectedResult).reason
    for (const [index, tenantAppId] of tenants.entries()) {
      const claim = claims[index]
      if (claim?.status === 'fulfilled' && claim.value > 0) due.add(tenantAppId)
    }
    return claims.some((claim) => claim.status === 'fulfilled' && claim.value > 0) || due.has(canServe)
  }

  function start(claimed: readonly ClaimedDelivery[]): number {
    for (const delivery of claimed) {
      const ended = run(delivery).finally(() => {
        running.delete(delivery.leaseToken)
        alarm.ring()
      })
      running.set(delivery.leaseToken, { tenantAppId: delivery.tenantAppId, ended })
    }
    return claimed.length
  }

  async function step(): Promise<boolean> {
    const now = performance.now()
    if (now >= releasesNext) {
      releasesNext = now + releaseMilliseconds
      await deliveries.releaseExpired()
    }
    if (isAnnounced || now >= readsNext) {
      isAnnounced = false
      readsNext = now + pollMilliseconds
      // Events can be announced meanwhile.
      if (await deliveries.fanOut()) isAnnounced = true
      due.forget()
    }
    return (await claim()) || isAnnounced
  }

  const { signal } = stopping
  const stopped = repeat(async () => ((await step()) ? 0 : pollMilliseconds), {
    signal,
    alarm,
    onError(error) {
      log.warn({ err: error }, 'events could not be delivered; it is tried again')
      return pollMilliseconds
    },
  })
  const onEvents = () => {
    isAnnounced = true
    alarm.ring()
  }
  void keepWatching({ events, log, signal, onEvents })

  return async (graceMilliseconds) => {
    stopping.abort()
    const timer = setTimeout(() => aborting.abort(), graceMilliseconds)
    await stopped
    await Promise.all([...running.values()].map(({ ended }) => ended))
    clearTimeout(timer)
  }
}

const maxBatch = 500

const retryMilliseconds = 500

/** How often a batch is tried. Then its leases end, and the deliveries are made again. */
const maxTries = 20

/** Records the ends of attempts: all that wait with one statement. `aborted` ends the tries. */
function createRecorder(deliveries: Pick<DeliveryStore, 'record'>, log: Logger, aborted: AbortSignal) {
  let waiting: EndedDelivery[] = []
  let writing: Promise<void> | undefined

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, maxBatch)
      waiting = waiting.slice(maxBatch)
      await write(batch)
    }
    writing = undefined
  }

  async function write(batch: readonly EndedDelivery[]): Promise<void> {
    for (let tries = 1; tries <= maxTries; tries += 1) {
      try {
        return await deliveries.record(batch)
      } catch (error) {
        log.warn({ err: error, deliveries: batch.length }, 'deliveries could not be recorded; it is tried again')
        await sleep(retryMilliseconds, undefined, { signal: aborted }).catch(() => undefined)
        if (aborted.aborted) return
      }
    }
  }

  return {
    /** Resolves when the end is recorded, or cannot be. */
    async record(ended: EndedDelivery): Promise<void> {
      waiting.push(ended)
      // Those that end in the same turn are one statement.
      writing ??= Promise.resolve().then(writeAll)
      await writing
    },
  }
}

/** Keeps the order in which tenants are served. The database is asked again when none is left, or others can be due. */
function createTenantTurns(listDue: () => Promise<readonly string[]>) {
  /** The one that has waited longest first. */
  let waiting = new Set<string>()
  let isKnown = false

  return {
    async next(limit: number, canServe: (tenantAppId: string) => boolean): Promise<string[]> {
      if (!isKnown || waiting.size === 0) {
        const listed = await listDue()
        // Those that wait already keep their places.
        waiting = new Set([...waiting].filter((id) => listed.includes(id)).concat(listed))
        isKnown = true
      }
      const taken = [...waiting].filter(canServe).slice(0, limit)
      for (const tenantAppId of taken) waiting.delete(tenantAppId)
      return taken
    },
    has: (canServe: (tenantAppId: string) => boolean) => [...waiting].some(canServe),
    /** Puts a tenant that may have more behind the others. */
    add: (tenantAppId: string) => void waiting.add(tenantAppId),
    /** Lets the next tenants be asked for: others can have due deliveries. */
    forget() {
      isKnown = false
    },
  }
}
