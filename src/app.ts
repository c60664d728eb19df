import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { schemas } from './domain/schema.graphql.ts'
import { createAuthenticator } from './engine/auth/authenticator.ts'
import { createTokenVerifier } from './engine/auth/tokens/token-verifier.ts'
import type { TrustedIssuer } from './engine/auth/tokens/trusted-issuers.ts'
import { createValidKeys } from './engine/auth/valid-keys.ts'
import type { Services } from './engine/context.ts'
import type { StatementCount, StatementMeter } from './engine/db/statement-meter.ts'
import { registerGraphQL } from './engine/graphql/http/route.ts'
import type { TrustedDocuments } from './engine/graphql/http/trusted-documents.ts'
import { createOperations } from './engine/graphql/operation/run.ts'
import { createAuthenticate } from './engine/http/authenticate.ts'
import { setCommonHeaders } from './engine/http/common-headers.ts'
import { allowOrigins } from './engine/http/cors.ts'
import { registerHome } from './engine/http/pages/home.ts'
import { registerReference } from './engine/http/pages/reference.ts'
import { answerErrors } from './engine/http/plugins/answer-errors.ts'
import { drainConnections } from './engine/http/plugins/drain.ts'
import { registerHealth } from './engine/http/plugins/health.ts'
import { readJsonBodies } from './engine/http/plugins/json-bodies.ts'
import { serveJwks } from './engine/http/plugins/jwks.ts'
import { limitConnections } from './engine/http/plugins/limit-connections.ts'
import { logRequests } from './engine/http/plugins/log-requests.ts'
import { type MetricsSource, registerMetrics } from './engine/http/plugins/metrics-route.ts'
import { refuseWebSockets } from './engine/http/plugins/refuse-websockets.ts'
import { reportTiming } from './engine/http/plugins/server-timing.ts'
import { type LoadLimits, shedLoad } from './engine/http/plugins/shed-load.ts'
import { traceRequests } from './engine/http/plugins/trace-requests.ts'
import { registerRoutes } from './engine/http/routes.ts'
import { type HttpTimeouts, serverOptions } from './engine/http/server-options.ts'
import { type RateLimit, unlimited } from './engine/limits/rate-limit.ts'
import type { RecentWrites } from './engine/limits/recent-writes.ts'
import type { Tracing } from './engine/telemetry/tracing.ts'
import { registerOpenApi } from './rest/openapi/document.ts'
import { serveRoutes } from './rest/serve-routes.ts'

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
  /** How often a subscription in Apollo's multipart protocol sends a heartbeat. */
  readonly heartbeatMilliseconds?: number
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
