import { createAlarm } from '../../../engine/alarm.ts'
import { repeat } from '../../../engine/repeat.ts'
import type { Logger } from '../../../engine/telemetry/logger.ts'
import type { EventFeed } from '../../event/event-feed.ts'
import { keepWatching } from '../../event/wake-ups.ts'
import type { Attempt } from './attempt.ts'
import type { ClaimedDelivery, DeliveryStore } from './delivery-store.ts'
import { createRecorder } from './recorder.ts'
import { createTenantTurns } from './tenant-turns.ts'

export interface DelivererOptions {
  readonly deliveries: DeliveryStore
  readonly events: Pick<EventFeed, 'watch'>
  readonly attempt: Attempt
  readonly log: Logger
  /** How many attempts this process makes at a time. One tenant gets about half of them. */
  readonly concurrency?: number
  /** How long a worker holds a delivery: longer than an attempt can take. */
  readonly leaseSeconds?: number
  /** How often it looks for due deliveries and new events when none are announced. */
  readonly pollMilliseconds?: number
}

const releaseMilliseconds = 5_000

/**
 * Starts to deliver the events of all tenants to their webhooks: puts new events into deliveries, and makes the
 * attempts that are due. Any number of processes may do so.
 *
 * @returns stops it: claims nothing more and waits for the attempts that run, at most as long as its argument says, in
 *   milliseconds. Other workers make those that were not finished
 */
export function startDeliverer(options: DelivererOptions): (graceMilliseconds: number) => Promise<void> {
  const { deliveries, events, attempt, log, concurrency = 100, leaseSeconds = 60, pollMilliseconds = 1_000 } = options
  const running = new Map<string, { readonly tenantAppId: string; readonly ended: Promise<void> }>()
  const alarm = createAlarm()
  const aborting = new AbortController()
  const recorder = createRecorder(deliveries, log, aborting.signal)
  const stopping = new AbortController()
  /** Whether there may be new events. */
  let isAnnounced = true
  const due = createTenantTurns(deliveries.listDue)
  let readsNext = 0
  let releasesNext = 0

  async function run(claimed: ClaimedDelivery): Promise<void> {
    const { tenantAppId, id, leaseToken } = claimed
    try {
      const end = await attempt(claimed, aborting.signal)
      await recorder.record({ tenantAppId, id, leaseToken, ...end })
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
    const claims = await Promise.all(tenants.map((tenantAppId) => deliveries.claim(tenantAppId, share, leaseSeconds)))
    for (const [index, tenantAppId] of tenants.entries()) if (claims[index]?.length) due.add(tenantAppId)
    const claimed = claims.flat()
    for (const delivery of claimed) {
      const ended = run(delivery).finally(() => {
        running.delete(delivery.leaseToken)
        alarm.ring()
      })
      running.set(delivery.leaseToken, { tenantAppId: delivery.tenantAppId, ended })
    }
    return claimed.length > 0 || due.has(canServe)
  }

  /** Returns whether there may be more to do at once. */
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
