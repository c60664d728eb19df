import type { AccessTokens, TrustedIssuer } from '@fusion-gateway/auth'
import { createAuthenticator, createTokenVerifier, createValidKeys } from '@fusion-gateway/auth'
import { consolePages } from '@fusion-gateway/console'
import {
  createAuthenticate,
  createDocumentFinder,
  createOperations,
  type OperationsOptions,
} from '@fusion-gateway/gateway-kit'
import {
  connectionLimit,
  cors,
  createGraphiql,
  draining,
  errorHandler,
  type GraphQLOptions,
  type HttpTimeouts,
  lingeringClose,
  loadShedding,
  type MetricsSource,
  metrics,
  registerGraphQL,
  requestLifecycle,
  routePlugin,
  schemaFile,
  serverOptions,
  supportedRequests,
  webSockets,
} from '@fusion-gateway/http'
import { createLimits, type LimitsOptions } from '@fusion-gateway/limits'
import type { Tracing } from '@fusion-gateway/telemetry'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import { changeLogOf } from './domain/event/change-log.ts'
import { graphiqlTabs, printSortedSchema, schemasFor } from './domain/schema.graphql.ts'
import { health } from './health.ts'
import { mcp } from './mcp/mcp.ts'
import { guides } from './pages/guides/guides.ts'
import { home } from './pages/home.ts'
import { reference } from './pages/reference.ts'
import { openApi } from './rest/openapi/document.ts'
import { rest } from './rest/rest.ts'

/**
 * Serves the public keys of access tokens, for servers that verify them. @see https://www.rfc-editor.org/rfc/rfc7517
 */
const jwks = routePlugin<{ tokens: AccessTokens }>('jwks', (app, { tokens }) => {
  app.route({ method: ['GET', 'HEAD'], url: '/.well-known/jwks.json', handler: () => tokens.publicKeys() })
})

export interface AppOptions
  extends Omit<GraphQLOptions, 'operations' | 'authenticate' | 'steps' | 'places' | 'points' | 'graphiql'>,
    Omit<OperationsOptions, 'schemas' | 'limits' | 'changeLog' | 'documents' | 'renderGraphiql'>,
    Omit<LimitsOptions, 'queues' | 'metrics'> {
  readonly logger: FastifyBaseLogger
  /** Whether browsers that open /graphql get GraphiQL. */
  readonly graphiql: boolean
  /** The key of the demo tenant, which pages show to browsers on this machine. */
  readonly demoKey?: string | undefined
  /** How often clients of subscriptions get a heartbeat. */
  readonly heartbeatMilliseconds: number
  readonly console: boolean
  readonly tracing?: Tracing | undefined
  readonly timeouts: HttpTimeouts
  /** The maximum number of open connections. Without it there is no limit. */
  readonly maxConnections?: number | undefined
  /** The port of `/metrics`. Without it the app serves `/metrics` itself. */
  readonly metricsPort?: number | undefined
  /** What `/metrics` shows. Without it, the metrics of this process. */
  readonly metricsSource?: MetricsSource | undefined
  /** Aborted when the gateway will stop soon: `/ready` says so to load balancers. */
  readonly draining?: AbortSignal | undefined
  /** How long `/metrics` returns the same response. */
  readonly metricsAgeMilliseconds: number
  readonly corsOrigins: readonly string[]
  readonly corsHeaders?: readonly string[]
  /** How long API keys are cached, so how late a revocation can take effect. */
  readonly keyCacheMilliseconds: number
  readonly trustedIssuers?: readonly TrustedIssuer[]
  /** Whether it is a subgraph of Apollo Federation. */
  readonly federation?: boolean
}

/** Creates the gateway. It does not listen. Closing it breaks off the subscriptions and leaves the database open. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { services, logger, demoKey, keyCacheMilliseconds } = options
  const { queues, metrics: counts } = services
  const app = Fastify(serverOptions(logger, options.timeouts))
  const limits = createLimits({ ...options, queues, metrics: counts })
  const schemas = schemasFor({ federation: options.federation ?? false })
  const documents = createDocumentFinder(options.trustedDocuments)
  const graphiql = options.graphiql ? createGraphiql({ tabs: graphiqlTabs, demoKey }) : undefined
  const operations = createOperations({
    ...options,
    schemas,
    limits,
    documents,
    changeLog: changeLogOf(services.database, services.events),
    renderGraphiql: graphiql?.render,
  })
  const keys = createValidKeys(services.database, logger, keyCacheMilliseconds)
  const tokens = createTokenVerifier(services.tokens, options.trustedIssuers ?? [])
  const authenticate = createAuthenticate(createAuthenticator(keys, tokens), services.database)
  app.addHook('onClose', () => keys.settle())
  app.addHook('onClose', () => operations.close())

  // The hooks of a request run in the order of this list. A hook that waits for nothing calls back: a promise for each
  // would take several percent of the CPU of a small request.
  // First, so that the responses to rejected requests have the headers too, and are traced and logged.
  app.register(requestLifecycle, { metrics: counts, tracing: options.tracing })
  app.register(errorHandler)
  app.register(supportedRequests, { steps: queues.parsing })
  // Before load is shed, so that pages of other origins can read why.
  app.register(cors, { origins: options.corsOrigins, headers: options.corsHeaders })
  app.register(loadShedding, limits)
  // Routes come after the plugin that reads bodies, because it allows a GET to have one.
  app.register(health, { database: services.database, draining: options.draining })
  app.register(jwks, { tokens: services.tokens })
  if (options.metricsPort === undefined) {
    const source = options.metricsSource ?? counts.registry
    app.register(metrics, { source, maxAgeMilliseconds: options.metricsAgeMilliseconds })
  }
  app.register(home, {
    graphiql: options.graphiql,
    console: options.console,
    onlyTrusted: options.trustedDocuments?.others === 'reject',
    demoKey,
  })
  app.register(reference, { demoKey })
  app.register(guides)
  if (options.console) app.register(consolePages, { graphiql: options.graphiql, demoKey })
  app.register(openApi, { preparer: operations })
  app.register(schemaFile, { ...options, authenticate, print: printSortedSchema })
  app.register(rest, { services, operations, authenticate })
  app.register(mcp, { ...options, preparer: operations, authenticate, rateLimit: limits.points })
  app.register(lingeringClose)
  app.register(connectionLimit, { max: options.maxConnections })
  // In a separate scope, because GraphQL errors have their own format. The scope inherits the hooks that are registered
  // before it.
  await app.register(async (scope) => {
    const { places, points } = limits
    const { parsing: steps } = queues
    registerGraphQL(scope, {
      ...options,
      places,
      points,
      operations,
      authenticate,
      steps,
      graphiql,
    })
  })
  // The gateway stops in this order: /ready, the subscriptions, which would keep it running, WebSockets, and the
  // connections.
  app.addHook('preClose', async () => {
    await operations.breakOff()
    await services.events.close()
  })
  const { idleMilliseconds } = options.timeouts
  app.register(webSockets, { ...options, operations, authenticate, limits, idleMilliseconds })
  await app.register(draining)
  return app
}
