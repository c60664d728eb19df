import type { Limits, Places } from '@fusion-gateway/limits'
import type { FastifyRequest } from 'fastify'
import { plugin } from '../plugin.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly places: Places
  }
}

/** Probes and metrics are always served: operators need them during an overload. */
const exempt = new Set(['/health', '/ready', '/metrics'])

/** Rejects requests beyond the limits. A request counts once its body has arrived: slow senders take no place. */
export const loadShedding = plugin<Pick<Limits, 'arriving' | 'places'>>('loadShedding', (app, { arriving, places }) => {
  const isExempt = ({ routeOptions: { url = '' } }: FastifyRequest) => exempt.has(url)

  app.decorate('places', places)
  app.addHook('onClose', async () => places.close())
  // Before the body is read, and before the key is looked up.
  app.addHook('onRequest', (request, _reply, done) => {
    if (!isExempt(request)) places.requireCapacity()
    done()
  })
  // When the key is known, and before the body is read.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    if (!request.viewer) return done()
    const permit = arriving.take(request.viewer)
    if (permit instanceof Promise) {
      permit.catch(done)
      return
    }
    request.held.takePlace(permit)
    done()
  })
  // When the body has been read. Others may have taken the last places meanwhile.
  app.addHook('preValidation', (request, _reply, done) => {
    request.held.leavePlace()
    if (!request.viewer && isExempt(request)) return done()
    const rejected = places.take(request.viewer, request.held)
    if (rejected) rejected.catch(done)
    else done()
  })
})
