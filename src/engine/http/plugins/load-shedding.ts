import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../errors.ts'
import { createConcurrencyLimit } from '../../limits/concurrency-limit.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { plugin } from '../plugin.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Releases the permits that the request has now. It can be called again. */
    releasePermits: (() => void) | undefined
  }
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

  function reject(reason: 'in_flight' | 'event_loop'): never {
    requestsShed.inc({ reason })
    throw new GatewayError('SERVICE_UNAVAILABLE', 'The gateway has too many requests right now. Try again shortly.')
  }

  /** Takes a permit of the process. Returns a function that releases it and the permit of the key. */
  function takePermitOfProcess(releasePermitOfKey: () => void): () => void {
    inFlight += 1
    requestsInFlight.set(inFlight)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      releasePermitOfKey()
      inFlight -= 1
      requestsInFlight.set(inFlight)
    }
  }

  function setPermits(request: FastifyRequest, { raw }: FastifyReply, release: () => void): void {
    request.releasePermits = release
    // The client may have gone while its key was looked up.
    if (raw.closed) release()
  }

  const isExempt = ({ routeOptions: { url = '' } }: FastifyRequest) => exempt.has(url)

  app.decorateRequest('releasePermits')
  // Before the body is read, and before the key is looked up.
  app.addHook('onRequest', (request, reply, done) => {
    if (inFlight >= maxInFlight && !isExempt(request)) reject('in_flight')
    if (isEventLoopLate() && !isExempt(request)) reject('event_loop')
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
    if (inFlight >= maxInFlight) reject('in_flight')
    const permit = request.viewer ? limit.take(request.viewer) : () => undefined
    if (permit instanceof Promise) {
      requestsShed.inc({ reason: 'in_flight_of_key' })
      permit.catch(done)
      return
    }
    setPermits(request, reply, takePermitOfProcess(permit))
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
  const timer = setInterval(() => {
    // There is no sample if the loop was blocked for the whole interval.
    const mean = delay.count > 0 ? delay.mean / 1e6 - resolutionMilliseconds : Number.POSITIVE_INFINITY
    delay.reset()
    lateSeconds = mean > maxMilliseconds ? lateSeconds + 1 : 0
  }, intervalMilliseconds).unref()
  app.addHook('onClose', async () => {
    clearInterval(timer)
    delay.disable()
  })
  return () => lateSeconds >= 2
}
