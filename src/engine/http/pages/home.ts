import type { FastifyRequest } from 'fastify'
import { packageVersion } from '../../telemetry/package-version.ts'
import { routePlugin } from '../plugin.ts'
import { createTextPages, faviconPath, isFromThisMachine, readPageFile, wantsPage } from './page.ts'

export interface HomeOptions {
  /** Whether browsers that open /graphql get GraphiQL. */
  readonly graphiql: boolean
  /** The key of the demo tenant, which browsers on this machine get. */
  readonly demoKey?: string | undefined
}

interface Link {
  readonly name: string
  readonly path: string
  readonly text: string
}

/** Serves `/`, which links to the parts of the gateway, as a page for browsers and as JSON for other clients. Also serves the icon. */
export const home = routePlugin<HomeOptions>('home', (app, { graphiql, demoKey }) => {
  const sendTextPage = createTextPages()
  const version = packageVersion()
  const icon = readPageFile('favicon.svg')
  const graphiqlLink: Link = { name: 'GraphiQL', path: '/graphql', text: 'Explore the schema and run queries.' }
  const links: Link[] = [
    ...(graphiql ? [graphiqlLink] : []),
    { name: 'REST reference', path: '/docs', text: 'Read about each route and try it.' },
    { name: 'OpenAPI', path: '/openapi.json', text: 'The description of the routes, for tools.' },
    { name: 'Health', path: '/health', text: 'Whether the process answers.' },
    { name: 'Readiness', path: '/ready', text: 'Whether the database answers too.' },
  ]

  app.route({
    method: ['GET', 'HEAD'],
    url: '/',
    async handler(request, reply) {
      if (wantsPage(request)) {
        const key = isFromThisMachine(request) ? demoKey : undefined
        return sendTextPage(reply, 'Fusion Gateway', homeBody(version, links, key && tryBody(request, key)))
      }
      reply.header('vary', 'accept')
      return {
        name: 'Fusion Gateway',
        version,
        links: {
          graphql: '/graphql',
          graphiql: graphiql ? '/graphql' : null,
          documentation: '/docs',
          openapi: '/openapi.json',
          health: '/health',
          ready: '/ready',
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

function homeBody(version: string, links: readonly Link[], demo = ''): string {
  return `<header>
<img src="${faviconPath}" alt="">
<h1>Fusion Gateway</h1>
<span class="version">version ${version}</span>
</header>
<p class="lead">One API for the users of an app, their accounts on platforms, the profiles of those accounts, and background jobs:
GraphQL at <code>/graphql</code>, and REST.</p>
<ul class="links">
${links.map(({ name, path, text }) => `<li><a href="${path}"><strong>${name}</strong> <code>${path}</code><span>${text}</span></a></li>`).join('\n')}
</ul>
${demo}`
}

/** How to send a first request. The host is a name of this machine, so it needs no escaping. */
function tryBody({ hostname, port }: FastifyRequest, key: string): string {
  return `<h2>Try it</h2>
<p>This gateway has a demo tenant. Only this machine sees its key:</p>
<pre tabindex="0" aria-label="Example"><code>curl 'http://${hostname}:${port ?? 80}/users?limit=2' \\
  -H 'x-api-key: ${key}'</code></pre>`
}
