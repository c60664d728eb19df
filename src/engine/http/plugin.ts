import type { FastifyInstance, FastifyPluginCallback } from 'fastify'

/**
 * Creates a Fastify plugin whose hooks apply to the app that registers it, and not only to routes of the plugin, as with the package
 * fastify-plugin.
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
