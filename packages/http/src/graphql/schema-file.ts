import { GatewayError } from '@fusion-gateway/base'
import type { Authenticate, TrustedDocuments } from '@fusion-gateway/gateway-kit'
import { compressResponse, respondConditionally } from '@fusion-gateway/gateway-kit'
import { routePlugin } from '../plugin.ts'

interface SchemaFileOptions {
  readonly authenticate: Authenticate
  readonly introspection: boolean
  readonly trustedDocuments?: Pick<TrustedDocuments, 'others'> | undefined
  readonly print: () => string
}

/**
 * Serves the schema as a text to those who may introspect it. It has what introspection leaves out: the directives of
 * fields.
 */
export const schemaFile = routePlugin<SchemaFileOptions>('schemaFile', (app, options) => {
  const { authenticate, introspection, trustedDocuments, print } = options
  let text: string | undefined
  app.route({
    method: ['GET', 'HEAD'],
    url: '/schema.graphql',
    onSend: compressResponse,
    onRequest: authenticate,
    async handler(request, reply) {
      if (!introspection) throw new GatewayError('FORBIDDEN', 'The schema is not shown, because INTROSPECTION is off.')
      if (trustedDocuments?.others === 'reject') {
        throw new GatewayError('FORBIDDEN', 'The schema is not shown, because only trusted documents are executed.')
      }
      text ??= print()
      // Browsers show it, and do not download it.
      reply.type('text/plain; charset=utf-8')
      return respondConditionally(request, reply, text)
    },
  })
})
