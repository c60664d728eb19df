import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { createAuthenticator } from './auth/authenticator.ts'
import { createTokenVerifier } from './auth/tokens/token-verifier.ts'
import type { TrustedIssuer } from './auth/tokens/trusted-issuers.ts'
import { createValidKeys } from './auth/valid-keys.ts'
import type { Services } from './context.ts'
import type { StatementCount, StatementMeter } from './db/statement-meter.ts'
import { registerGraphQL } from './graphql/http/route.ts'
import type { StreamRouteOptions } from './graphql/http/streams/stream-route.ts'
import type { TrustedDocuments } from './graphql/http/trusted-documents.ts'
import { createOperations } from './graphql/operation/run.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { setCommonHeaders } from './http/common-headers.ts'
import { allowOrigins } from './http/cors.ts'
import { registerHome } from './http/pages/home.ts'
import { registerReference } from './http/pages/reference.ts'
import { answerErrors } from './http/plugins/answer-errors.ts'
import { drainConnections } from './http/plugins/drain.ts'
import { registerHealth } from './http/plugins/health.ts'
import { readJsonBodies } from './http/plugins/json-bodies.ts'
import { serveJwks } from './http/plugins/jwks.ts'
import { limitConnections } from './http/plugins/limit-connections.ts'
import { logRequests } from './http/plugins/log-requests.ts'
import { type MetricsSource, registerMetrics } from './http/plugins/metrics-route.ts'
import { refuseWebSockets } from './http/plugins/refuse-websockets.ts'
import { reportTiming } from './http/plugins/server-timing.ts'
import { type LoadLimits, shedLoad } from './http/plugins/shed-load.ts'
import { traceRequests } from './http/plugins/trace-requests.ts'
import { registerRoutes } from './http/routes.ts'
import { type HttpTimeouts, serverOptions } from './http/server-options.ts'
import { type RateLimit, unlimited } from './limits/rate-limit.ts'
import type { RecentWrites } from './limits/recent-writes.ts'
import { schemas } from './noun/schema.graphql.ts'
import { registerOpenApi } from './rest/openapi/document.ts'
import { serveRoutes } from './rest/serve-routes.ts'
import type { Tracing } from './telemetry/tracing.ts'

export interface AppOptions {
  readonly services: Services
  readonly meter: StatementMeter
  readonly logger: FastifyBaseLogger
  /** Traces requests. Without it none are traced. */
  readonly tracing?: Tracing | undefined
  readonly timeouts?: HttpTimeouts
  readonly load?: LoadLimits
  /** The maximum number of open connections. Without it there is no limit. */
  readonly maxConnections?: number | undefined
  /** The maximum number of subscriptions of one key at a time. */
  readonly maxSubscriptionsPerKey?: number
  /** The most MiB of long answers that the clients of one key have not read, at a time. */
  readonly maxUnsentMibPerKey?: number
  /** The times of answers that are sent while things happen. */
  readonly streams?: StreamRouteOptions['streams']
  /** The port of `/metrics`. Without it the app serves `/metrics` itself. */
  readonly metricsPort?: number | undefined
  /** What `/metrics` shows. Without it, the metrics of this process. */
  readonly metricsSource?: MetricsSource | undefined
  /** How long `/metrics` gives the same answer. */
  readonly metricsAgeMilliseconds?: number
  /** Whether browsers that open /graphql get GraphiQL. */
  readonly graphiql: boolean
  /** Whether the schema may be explored by introspection and suggestions. */
  readonly introspection: boolean
  /** The documents of clients. Without them every document is executed. */
  readonly trustedDocuments?: TrustedDocuments | undefined
  /** Origins whose pages may call the gateway. */
  readonly corsOrigins: readonly string[]
  /** Further headers that their pages may send. */
  readonly corsHeaders?: readonly string[]
  /** How long API keys are cached, so how late a revocation can take effect. */
  readonly keyCacheMilliseconds?: number
  /** Identity providers whose tokens are accepted. */
  readonly trustedIssuers?: readonly TrustedIssuer[]
  /** Without it keys are not limited. */
  readonly rateLimit?: RateLimit
  /** The keys that have written recently, if there are replicas. */
  readonly recentWrites?: RecentWrites | undefined
  /** The key of the demo tenant, which pages show to browsers on this machine. */
  readonly demoKey?: string | undefined
}

const defaultTimeouts: HttpTimeouts = {
  headersMilliseconds: 10_000,
  requestMilliseconds: 30_000,
  keepAliveMilliseconds: 72_000,
  idleMilliseconds: 120_000,
}

const defaultLoad: LoadLimits = { maxInFlight: 500, maxInFlightPerKey: 100, maxEventLoopDelayMilliseconds: 1_000 }

/** Creates the gateway. It does not listen. Closing it leaves the services open. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { services, meter, logger, corsOrigins, keyCacheMilliseconds = 3_000, rateLimit = unlimited } = options
  const app = Fastify(serverOptions(logger, options.timeouts ?? defaultTimeouts))
  const operations = createOperations({ ...options, schemas, rateLimit })
  const keys = createValidKeys(services.database, logger, keyCacheMilliseconds)
  const tokens = createTokenVerifier(services.tokens, options.trustedIssuers ?? [])
  const authenticate = createAuthenticate(createAuthenticator(keys, tokens), meter)
  app.addHook('onClose', () => keys.settle())

  app.decorateRequest('viewer', null)
  app.decorateRequest('operationName', undefined)
  app.decorateRequest('statements')
  app.decorateRequest('bodyLength', 0)
  // Hooks that wait for nothing call back. A promise for each of them would take several percent of the CPU of a small request.
  app.addHook('onRequest', (request, reply, done) => {
    const statements: StatementCount = { statements: 0 }
    request.statements = statements
    reply.raw.once('close', () => {
      statements.isAbandoned = !reply.raw.writableFinished
    })
    setCommonHeaders(reply)
    done()
  })
  traceRequests(app, options.tracing)
  readJsonBodies(app, services.turns.steps)
  answerErrors(app)
  logRequests(app, services.metrics)
  reportTiming(app)
  refuseWebSockets(app)
  if (corsOrigins.length > 0) allowOrigins(app, corsOrigins, options.corsHeaders)
  shedLoad(app, options.load ?? defaultLoad, services.metrics)

  registerRoutes(app, (routes) => {
    registerHealth(routes, services.database)
    serveJwks(routes, services.tokens)
    if (options.metricsPort === undefined) {
      registerMetrics(routes, options.metricsSource ?? services.metrics.registry, options.metricsAgeMilliseconds)
    }
    registerHome(routes, options)
    registerReference(routes, options.demoKey)
    registerOpenApi(routes, operations)
    serveRoutes(routes, { services, operations, authenticate })
  })
  // In a scope of its own, because it answers errors in its own format.
  await app.register(async (scope) => registerGraphQL(scope, { ...options, operations, authenticate }))

  // Ends the subscriptions, which would keep the gateway running.
  app.addHook('preClose', () => services.changes.close())
  limitConnections(app, options.maxConnections)
  drainConnections(app)
  return app
}
