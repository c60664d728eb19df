import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../../auth/viewer.ts'
import { GatewayError } from '../../errors.ts'
import { createConcurrencyLimit } from '../../limits/concurrency-limit.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { plugin } from '../plugin.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly load: Load
  }
  interface FastifyRequest {
    /** Releases the permits that the request has now. It can be called again. */
    releasePermits: (() => void) | undefined
  }
}

/** What accepts or rejects work by the load of the process. */
interface Load {
  /** @throws GatewayError SERVICE_UNAVAILABLE if the process has too much work */
  requireCapacity(): void
  /**
   * Takes the permits of a request that has arrived.
   *
   * @param viewer null for a request without a key
   * @returns a function that releases them
   * @throws GatewayError RATE_LIMITED, after a second, or SERVICE_UNAVAILABLE
   */
  take(viewer: Viewer | null): (() => void) | Promise<never>
}

/** How much load a process accepts. */
export interface LoadLimits {
  /** The maximum number of requests at a time. */
  readonly maxInFlight: number
  /** The maximum number of requests of one key at a time. */
  readonly maxInFlightPerKey: number
  /** The maximum mean delay of the event loop. */
  readonly maxEventLoopDelayMilliseconds: number
}

type Options = { readonly limits: LoadLimits; readonly metrics: Metrics }

/**
 * The part of the permits of a process that everyone can take. The rest is for tenants that have less than their share: the permits divided
 * by the tenants that have any. So a few tenants with very many requests cannot stop the others. Requests without a key never get one of the
 * rest: clients without a key have no limits of their own.
 */
const partForAll = 4 / 5

/** Stands for the tenant of requests without a key. */
const withoutKey = ''

/** Probes and metrics are always served: operators need them during an overload. */
const exempt = new Set(['/health', '/ready', '/metrics'])

/**
 * Rejects requests that exceed the limits before their operation is read, so that accepted requests stay fast. A request
 * counts from the moment its body has arrived: a client that sends slowly takes no permit.
 */
export const loadShedding = plugin<Options>('loadShedding', (app, { limits, metrics }) => {
  const { maxInFlight, maxInFlightPerKey, maxEventLoopDelayMilliseconds } = limits
  const { requestsInFlight, requestsShed } = metrics
  const isEventLoopLate = watchEventLoop(app, maxEventLoopDelayMilliseconds)
  const limit = createConcurrencyLimit(maxInFlightPerKey, 'requests', 'MAX_IN_FLIGHT_PER_KEY')
  // Requests whose bodies are still arriving take memory but no permit. Twice as many leave room for requests that take a permit meanwhile.
  const arriving = createConcurrencyLimit(2 * maxInFlightPerKey, 'requests that arrive', 'twice MAX_IN_FLIGHT_PER_KEY')
  let inFlight = 0
  /** The requests in flight of each tenant, and of those without a key. */
  const ofTenants = new Map<string, number>()

  /** Whether there is no permit for a tenant. */
  function isFull(tenant: string): boolean {
    if (inFlight < maxInFlight * partForAll) return false
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

  function reject(reason: 'in_flight' | 'event_loop'): never {
    requestsShed.inc({ reason })
    throw new GatewayError('SERVICE_UNAVAILABLE', 'The gateway has too many requests right now. Try again shortly.')
  }

  /** Takes a permit of the process. Returns a function that releases it and those of the key and the tenant. */
  function takePermitOfProcess(tenant: string, releaseOthers: () => void): () => void {
    count(tenant, 1)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      releaseOthers()
      count(tenant, -1)
    }
  }

  function requireCapacity(): void {
    if (inFlight >= maxInFlight) reject('in_flight')
    if (isEventLoopLate()) reject('event_loop')
  }

  function take(viewer: Viewer | null): (() => void) | Promise<never> {
    const permit = viewer ? limit.take(viewer) : () => undefined
    if (permit instanceof Promise) {
      requestsShed.inc({ reason: 'in_flight_of_key' })
      return permit
    }
    const tenant = viewer?.tenantAppId ?? withoutKey
    if (isFull(tenant)) {
      permit()
      reject('in_flight')
    }
    return takePermitOfProcess(tenant, permit)
  }

  function setPermits(request: FastifyRequest, { raw }: FastifyReply, release: () => void): void {
    request.releasePermits = release
    // The client may have gone while its key was looked up.
    if (raw.closed) release()
  }

  const isExempt = ({ routeOptions: { url = '' } }: FastifyRequest) => exempt.has(url)

  app.decorate('load', { requireCapacity, take })
  app.decorateRequest('releasePermits')
  // Before the body is read, and before the key is looked up.
  app.addHook('onRequest', (request, reply, done) => {
    if (!isExempt(request)) requireCapacity()
    reply.raw.once('close', () => request.releasePermits?.())
    done()
  })
  // When the key is known, and before the body is read.
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (!request.viewer) return done()
    const permit = arriving.take(request.viewer)
    if (permit instanceof Promise) {
      requestsShed.inc({ reason: 'arriving_of_key' })
      permit.catch(done)
      return
    }
    setPermits(request, reply, permit)
    done()
  })
  // When the body has been read. Others may have taken the last permits meanwhile.
  app.addHook('preValidation', (request, reply, done) => {
    request.releasePermits?.()
    if (!request.viewer && isExempt(request)) return done()
    const permits = take(request.viewer)
    if (permits instanceof Promise) {
      permits.catch(done)
      return
    }
    setPermits(request, reply, permits)
    done()
  })
})

/** Stops counting a request as in flight: from now on it only waits for events. */
export function releasePermits({ request }: FastifyReply): void {
  request.releasePermits?.()
}

const resolutionMilliseconds = 10
const intervalMilliseconds = 1_000

/**
 * Measures the delay of the event loop every second. The event loop counts as late after two late seconds in a row, because a single
 * long step is over when it is noticed.
 */
function watchEventLoop(app: FastifyInstance, maxMilliseconds: number): () => boolean {
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
  app.addHook('onClose', async () => {
    clearInterval(timer)
    delay.disable()
  })
  return () => lateSeconds >= 2
}
