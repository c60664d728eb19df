import underPressure from '@fastify/under-pressure'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { LoadLimits } from '../config.ts'
import { GatewayError } from '../errors.ts'
import type { Metrics } from '../metrics.ts'

/** Probes and measurements are answered all the same: they tell what goes on. */
const probes = new Set(['/health', '/ready', '/metrics'])

/** Refuses what is more than can be done, before anything is done for it, so that what was taken on keeps its pace. */
export async function shedLoad(
  app: FastifyInstance,
  { maxInFlight, maxEventLoopDelayMilliseconds }: LoadLimits,
  { requestsInFlight, requestsShed }: Metrics,
): Promise<void> {
  await app.register(underPressure, {
    maxEventLoopDelay: maxEventLoopDelayMilliseconds,
    // It measures; what becomes of a request is decided below.
    pressureHandler: () => undefined,
  })
  const isLate = watchLateness(app, maxEventLoopDelayMilliseconds)
  let inFlight = 0

  function refuse(reason: 'in_flight' | 'event_loop'): never {
    requestsShed.inc({ reason })
    throw new GatewayError('SERVICE_UNAVAILABLE', 'There is too much to do right now. Try again shortly.')
  }

  function takeOn(reply: FastifyReply): void {
    inFlight += 1
    requestsInFlight.set(inFlight)
    const letGo = () => {
      reply.raw.off('close', letGo)
      reply.raw.off('idle', letGo)
      inFlight -= 1
      requestsInFlight.set(inFlight)
    }
    reply.raw.once('close', letGo).once('idle', letGo)
  }

  app.addHook('onRequest', async (request, reply) => {
    if (probes.has(request.routeOptions.url ?? '')) return
    if (inFlight >= maxInFlight) refuse('in_flight')
    if (isLate()) refuse('event_loop')
    takeOn(reply)
  })
}

/** A request that waits for news from here on is no work that is under way. */
export function isIdleFromHere({ raw }: FastifyReply): void {
  raw.emit('idle')
}

/**
 * Looks whether the event loop is late, second after second. A single long step makes one measurement large, or infinite;
 * but it is over by then, and to refuse what comes after it would help nobody.
 */
function watchLateness(app: FastifyInstance, maxMilliseconds: number): () => boolean {
  let last = 0
  let lateInARow = 0
  const timer = setInterval(() => {
    const { eventLoopDelay } = app.memoryUsage()
    // Two looks may fall between two measurements.
    if (eventLoopDelay === last) return
    last = eventLoopDelay
    lateInARow = eventLoopDelay > maxMilliseconds ? lateInARow + 1 : 0
  }, 1_000).unref()
  app.addHook('onClose', async () => clearInterval(timer))
  return () => lateInARow >= 2
}
