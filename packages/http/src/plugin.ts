import { METHODS } from 'node:http'
import { GatewayError } from '@fusion-gateway/base'
import type { FastifyInstance, FastifyPluginCallback, HTTPMethods } from 'fastify'

/**
 * Creates a Fastify plugin whose hooks apply to the app that registers it, and not only to routes of the plugin, as
 * with the package fastify-plugin.
 *
 * @param name for Fastify's messages
 * @see https://fastify.dev/docs/latest/Guides/Plugins-Guide/#how-to-handle-encapsulation-and-distribution
 */
export function plugin<Options extends object = object>(
  name: string,
  register: (app: FastifyInstance, options: Options) => void,
) {
  const callback: FastifyPluginCallback<Options> = (app, options, done) => {
    register(app, options)
    done()
  }
  return Object.assign(callback, { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: name })
}

export function routePlugin<Options extends object>(
  name: string,
  register: (app: FastifyInstance, options: Options) => void,
) {
  return plugin<Options>(name, (app, options) => registerRoutes(app, () => register(app, options)))
}

/** Registers routes, and rejects the other methods of their paths with 405 and the header `Allow`. */
export function registerRoutes(app: FastifyInstance, register: (app: FastifyInstance) => void): void {
  const allowedByUrl = new Map<string, string[]>()
  let isRegistering = true
  app.addHook('onRoute', ({ url, method }) => {
    if (isRegistering) allowedByUrl.set(url, [...(allowedByUrl.get(url) ?? []), ...[method].flat()])
  })
  register(app)
  isRegistering = false

  // Every method that Node's parser accepts. CONNECT never becomes a request.
  const methods = METHODS.filter((method) => method !== 'CONNECT')
  for (const method of methods) if (!app.supportedMethods.includes(method as HTTPMethods)) app.addHttpMethod(method)
  // Fastify refuses a QUERY without a content type before its route does.
  app.addHttpMethod('QUERY', { overrideExisting: true })
  for (const [url, allowed] of allowedByUrl) {
    app.route({
      method: methods.filter((method) => !allowed.includes(method)) as HTTPMethods[],
      url,
      async handler() {
        const allow = allowed.join(', ')
        throw new GatewayError('METHOD_NOT_ALLOWED', `Allowed methods: ${allow}.`, { headers: { allow } })
      },
    })
  }
}
