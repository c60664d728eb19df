import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Viewer } from '../auth/viewer.ts'
import { GatewayError } from '../errors.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'

/** How much load a process accepts. */
export interface LoadLimits {
  /** The maximum number of requests at a time. */
  readonly maxInFlight: number
  /** The maximum number of requests of one key at a time. */
  readonly maxInFlightPerKey: number
  /** The maximum mean delay of the event loop. */
  readonly maxEventLoopDelayMilliseconds: number
}

export type Places = ReturnType<typeof createPlaces>

/**
 * The part of the places of a process that everyone can take. The rest is for tenants that have less than their share:
 * the places divided by the tenants that have any. So a few tenants with very many requests cannot stop the others.
 * Requests without a key never get one of the rest: clients without a key have no limits of their own.
 */
const shareOfProcess = 4 / 5

/** Stands for the tenant of requests without a key. */
const withoutKey = ''

/** Creates the places of the requests in flight, and of the operations of WebSockets. */
export function createPlaces(
  { maxInFlight, maxInFlightPerKey, maxEventLoopDelayMilliseconds }: LoadLimits,
  { requestsInFlight }: Pick<Metrics, 'requestsInFlight'>,
) {
  const eventLoop = watchEventLoop(maxEventLoopDelayMilliseconds)
  const limit = createConcurrencyLimit('in_flight_of_key', maxInFlightPerKey, 'requests')
  let inFlight = 0
  /** The requests in flight of each tenant, and of those without a key. */
  const ofTenants = new Map<string, number>()

  /** Whether there is no place for a tenant. */
  function isFull(tenant: string): boolean {
    if (inFlight < maxInFlight * shareOfProcess) return false
    const own = ofTenants.get(tenant) ?? 0
    return (
      tenant === withoutKey || inFlight >= maxInFlight || own >= maxInFlight / (ofTenants.size + (own === 0 ? 1 : 0))
    )
  }

  function count(tenant: string, change: 1 | -1): void {
    inFlight += change
    requestsInFlight.set(inFlight)
    const own = (ofTenants.get(tenant) ?? 0) + change
    if (own === 0) ofTenants.delete(tenant)
    else ofTenants.set(tenant, own)
  }

  /** Takes a place of the process. Returns a function that releases it and those of the subjects. */
  function takePlaceOfProcess(tenant: string, releaseOthers: () => void): () => void {
    count(tenant, 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      releaseOthers()
      count(tenant, -1)
    }
  }

  return {
    /** @throws GatewayError SERVICE_UNAVAILABLE if the process has too much work */
    requireCapacity(): void {
      if (inFlight >= maxInFlight) throw overloaded('in_flight')
      if (eventLoop.isLate()) throw overloaded('event_loop')
    },

    /**
     * Takes the place of a request that has arrived.
     *
     * @param viewer null for a request without a key
     * @returns nothing, or a promise that rejects
     * @throws GatewayError RATE_LIMITED, after a second, or SERVICE_UNAVAILABLE
     */
    take(viewer: Viewer | null, held: Held): undefined | Promise<never> {
      const permit = viewer ? limit.take(viewer) : () => undefined
      if (permit instanceof Promise) return permit
      const tenant = viewer?.tenantAppId ?? withoutKey
      if (isFull(tenant)) {
        permit()
        throw overloaded('in_flight')
      }
      held.takePlace(takePlaceOfProcess(tenant, permit))
      return undefined
    },

    /** Stops measuring the event loop. */
    close: eventLoop.stop,
  }
}

function overloaded(limit: 'in_flight' | 'event_loop'): GatewayError {
  const variable = limit === 'in_flight' ? ' (MAX_IN_FLIGHT)' : ''
  const message = `The gateway has too many requests right now${variable}. Try again shortly.`
  return new GatewayError('SERVICE_UNAVAILABLE', message, { limit })
}

/**
 * What a request, or an operation of a WebSocket, holds: its place among those in flight, and what its client has not
 * received yet. Whatever ends the request gives everything back, once.
 */
export class Held {
  #place: (() => void) | undefined
  #others: (() => void)[] = []
  #isOver = false

  /** Whether everything was given back. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Holds a place instead of the one before. */
  takePlace(release: () => void): void {
    this.leavePlace()
    if (this.#isOver) release()
    else this.#place = release
  }

  /** Gives the place back early: the request only waits for events from now on, or for a slow reader of a page. */
  leavePlace(): void {
    this.#place?.()
    this.#place = undefined
  }

  /** Calls `release` when the request is over: its client has received the response, or has gone. */
  untilOver(release: () => void): void {
    if (this.#isOver) release()
    else this.#others.push(release)
  }

  /** Gives everything back. Further calls do nothing. */
  end(): void {
    this.#isOver = true
    this.leavePlace()
    for (const release of this.#others.splice(0)) release()
  }
}

const resolutionMilliseconds = 10

const intervalMilliseconds = 1_000

/**
 * Measures the delay of the event loop every second. The event loop counts as late after two late seconds in a row,
 * because a single long step is over when it is noticed.
 *
 * @param maxMilliseconds the maximum mean delay
 */
function watchEventLoop(maxMilliseconds: number) {
  const delay = monitorEventLoopDelay({ resolution: resolutionMilliseconds })
  delay.enable()
  let lateSeconds = 0
  let checkedAt = performance.now()
  const timer = setInterval(() => {
    const elapsed = performance.now() - checkedAt
    checkedAt += elapsed
    // There is no sample if the loop was blocked for the whole interval.
    const mean = delay.count > 0 ? delay.mean / 1e6 - resolutionMilliseconds : elapsed
    delay.reset()
    lateSeconds = mean > maxMilliseconds ? lateSeconds + 1 : 0
  }, intervalMilliseconds).unref()
  return {
    isLate: () => lateSeconds >= 2,
    stop(): void {
      clearInterval(timer)
      delay.disable()
    },
  }
}
