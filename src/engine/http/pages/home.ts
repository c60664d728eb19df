import { packageVersion } from '../../telemetry/package-version.ts'
import { prefixOf } from '../base-url.ts'
import { routePlugin } from '../plugin.ts'
import { homeBody } from './home-body.ts'
import { createTextPages, faviconPath, isFromThisMachine, readPageFile, wantsPage } from './page.ts'

export interface HomeOptions {
  /** Whether browsers that open /graphql get GraphiQL. */
  readonly graphiql: boolean
  /** Whether `/console` is served. */
  readonly console: boolean
  /** Whether only trusted documents are executed, so that the GraphQL sample would be rejected. */
  readonly onlyTrusted: boolean
  /** The key of the demo tenant, which browsers on this machine get. */
  readonly demoKey?: string | undefined
}

/**
 * Serves `/`, which links to the parts of the gateway, as a page for browsers and as JSON for other clients. Also
 * serves the icon.
 */
export const home = routePlugin<HomeOptions>('home', (app, { graphiql, console, onlyTrusted, demoKey }) => {
  const version = packageVersion()
  const sendTextPage = createTextPages()
  const icon = readPageFile('favicon.svg')

  app.route({
    method: ['GET', 'HEAD'],
    url: '/',
    async handler(request, reply) {
      if (wantsPage(request)) {
        const key = isFromThisMachine(request) ? demoKey : undefined
        return sendTextPage(
          reply,
          'Fusion Gateway',
          homeBody({ graphiql, console, onlyTrusted, version, key }, request),
        )
      }
      reply.header('vary', 'accept')
      const prefix = prefixOf(request)
      return {
        name: 'Fusion Gateway',
        version,
        links: {
          graphql: `${prefix}/graphql`,
          graphiql: graphiql ? `${prefix}/graphql` : null,
          console: console ? `${prefix}/console` : null,
          documentation: `${prefix}/docs`,
          openapi: `${prefix}/openapi.json`,
          health: `${prefix}/health`,
          ready: `${prefix}/ready`,
        },
      }
    },
  })

  // Browsers request the second path by default.
  for (const url of [faviconPath, '/favicon.ico']) {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      handler: (_request, reply) =>
        reply.type('image/svg+xml; charset=utf-8').header('cache-control', 'public, max-age=86400').send(icon),
    })
  }
})
