import type { Viewer } from '../auth/viewer.ts'
import { GatewayError } from '../errors.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import { watchEventLoop } from './event-loop-delay.ts'
import type { Held } from './held.ts'

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
  const limit = createConcurrencyLimit('in_flight_of_key', maxInFlightPerKey, 'requests', 'MAX_IN_FLIGHT_PER_KEY')
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

/** The variables of the limits of a process. */
const variables = { in_flight: 'MAX_IN_FLIGHT', event_loop: 'MAX_EVENT_LOOP_DELAY' }

function overloaded(limit: keyof typeof variables): GatewayError {
  const message = `The gateway has too many requests right now (${variables[limit]}). Try again shortly.`
  return new GatewayError('SERVICE_UNAVAILABLE', message, { limit })
}
