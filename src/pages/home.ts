import { buildVersion } from '@fusion-gateway/base'
import {
  createTextPages,
  faviconPath,
  isFromThisMachine,
  prefixOf,
  readPageFile,
  routePlugin,
  wantsPage,
} from '@fusion-gateway/http'
import type { FastifyRequest } from 'fastify'

interface Shown {
  readonly graphiql: boolean
  readonly console: boolean
  readonly onlyTrusted: boolean
  readonly version: string
  /** The key of the demo tenant, for browsers that may see it. */
  readonly key: string | undefined
}

function homeBody({ graphiql, console, onlyTrusted, version, key }: Shown, request: FastifyRequest): string {
  const links = [
    ...(graphiql ? [['GraphiQL', '/graphql', 'Explore the schema and run operations.']] : []),
    ...(console ? [['Console', '/console', 'See users, jobs, webhooks, keys and usage.']] : []),
    ['REST reference', '/docs', 'Read about each route and try it.'],
    ['Guides', '/guides', 'GraphQL, REST, jobs, frontends, and how to operate a gateway.'],
    ['OpenAPI', '/openapi.json', 'The description of the routes, for tools.'],
    ['Health', '/health', 'Whether the process answers.'],
    ['Readiness', '/ready', 'Whether the database answers too.'],
  ]
  return `<header>
<img src="${faviconPath}" alt="">
<h1>Fusion Gateway</h1>
<span class="version">version ${version}</span>
</header>
<p class="lead">One API for the users of an app, their accounts on platforms, the profiles of those accounts, and background jobs:
GraphQL at <code>/graphql</code>, and REST.</p>
<ul class="links">
${links.map(([name, path, text]) => `<li><a href="${path}"><strong>${name}</strong> <code>${path}</code><span>${text}</span></a></li>`).join('\n')}
</ul>
<h2>Try it</h2>
${samples(request, key, onlyTrusted)}
<h2>Next steps</h2>
<ol class="steps">
${nextSteps(graphiql, key !== undefined)
  .map((step) => `<li>${step}</li>`)
  .join('\n')}
</ol>`
}

/** Requests to send. With a key the host is a name of this machine, so it needs no escaping. */
function samples({ hostname, port }: FastifyRequest, key: string | undefined, onlyTrusted: boolean): string {
  const gateway = key === undefined ? '$GATEWAY' : `http://${hostname}:${port ?? 80}`
  const header = `-H "x-api-key: ${key ?? '$KEY'}"`
  const intro =
    key === undefined
      ? 'Set <code>GATEWAY</code> to this address, and <code>KEY</code> to an API key, which the operator of the gateway creates.'
      : 'This gateway has a demo tenant. Only this machine sees its key:'
  return [
    `<p>${intro}</p>`,
    key === undefined ? '' : sample('API key', key),
    sample('REST', `curl "${gateway}/users?limit=2" \\\n  ${header}`),
    // Such a gateway would reject it.
    onlyTrusted
      ? ''
      : sample(
          'GraphQL',
          `curl "${gateway}/graphql" \\\n  ${header} \\\n  -H 'content-type: application/json' \\\n` +
            `  -d '{"query": "{ users(first: 2) { nodes { name } } }"}'`,
        ),
  ].join('\n')
}

const sample = (name: string, text: string) =>
  `<h3>${name}</h3>\n<pre tabindex="0" aria-label="${name}"><code>${text}</code></pre>`

function nextSteps(graphiql: boolean, hasDemo: boolean): string[] {
  const explore = graphiql
    ? 'Open <a href="/graphql">GraphiQL</a>. Its tabs are examples of queries, changes and subscriptions.'
    : ''
  const tryRoutes =
    'Try a route in the <a href="/docs">REST reference</a>, or load <a href="/openapi.json">OpenAPI</a> into your tools.'
  const read =
    'Read the <a href="/guides">guides</a>: they show how to connect a frontend, run jobs, and write a client.'
  const own = hasDemo
    ? 'Leave the demo: the guides show how to create tenants and keys, and how to run on PostgreSQL.'
    : ''
  return [explore, tryRoutes, read, own].filter((step) => step !== '')
}

export interface HomeOptions {
  readonly graphiql: boolean
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
  const version = buildVersion()
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
