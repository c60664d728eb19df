import cors from '@fastify/cors'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { v4 as uuidv4 } from 'uuid'
import { createAuthenticator } from './auth/authenticate.ts'
import type { HttpTimeouts, LoadLimits } from './config.ts'
import type { StatementCount, StatementMeter } from './db/statement-meter.ts'
import { registerGraphQL } from './graphql/register.ts'
import type { TrustedDocuments } from './graphql/trusted-documents.ts'
import {
  answerBadUrl,
  answerClientError,
  answerErrors,
  refuseOtherMethods,
  setCommonHeaders,
} from './http/answer-errors.ts'
import { createChooseReads } from './http/choose-reads.ts'
import { drainConnections } from './http/drain.ts'
import { registerHealth } from './http/health.ts'
import { logRequests } from './http/log-requests.ts'
import { registerMetrics } from './http/metrics-route.ts'
import { readJsonBodies } from './http/read-json-bodies.ts'
import { shedLoad } from './http/shed-load.ts'
import { traceRequests } from './http/trace-requests.ts'
import { createAdmission } from './limits/admission.ts'
import { type RateLimit, unlimited } from './limits/rate-limit.ts'
import type { RecentWrites } from './limits/recent-writes.ts'
import { registerOpenApi } from './rest/openapi.ts'
import { registerRest } from './rest/register.ts'
import type { Services } from './services.ts'
import type { Tracing } from './tracing.ts'

export interface AppOptions {
  readonly services: Services
  readonly meter: StatementMeter
  readonly logger: FastifyBaseLogger
  /** Where the traces of requests go; none are made when absent. */
  readonly tracing?: Tracing | undefined
  /** How long a client is waited for. */
  readonly timeouts?: HttpTimeouts
  /** How much is taken on. */
  readonly load?: LoadLimits
  /** Whether `/metrics` is served elsewhere. */
  readonly metricsPort?: number | undefined
  /** Whether a browser that opens /graphql gets GraphiQL. */
  readonly graphiql: boolean
  /** Whether the schema may be explored by introspection and suggestions. */
  readonly introspection: boolean
  /** The documents that clients were built with; any document runs when absent. */
  readonly trustedDocuments?: TrustedDocuments | undefined
  /** Origins whose pages may call the gateway; none: no page of another origin may. */
  readonly corsOrigins: readonly string[]
  /** How long a key that was found is taken to be good. */
  readonly rememberKeyMilliseconds?: number
  /** How much a key may ask in a minute; as much as it likes when absent. */
  readonly rateLimit?: RateLimit
  /** Who has written a moment ago, where reads may come from replicas. */
  readonly recentWrites?: RecentWrites | undefined
  /** The key of the demo tenant, filled into GraphiQL for a browser on this machine. */
  readonly demoKey?: string | undefined
}

const maxBodyBytes = 1024 * 1024

const defaultTimeouts: HttpTimeouts = {
  headersMilliseconds: 10_000,
  requestMilliseconds: 30_000,
  keepAliveMilliseconds: 72_000,
  idleMilliseconds: 120_000,
}

const defaultLoad: LoadLimits = { maxInFlight: 500, maxEventLoopDelayMilliseconds: 1_000 }

/** How often Node looks for connections that take too long. */
const lookMilliseconds = 1_000

/** Makes the gateway: both faces over one schema. It never listens; closing it leaves the services open. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { services, meter, logger, corsOrigins, rememberKeyMilliseconds = 3_000 } = options
  const { headersMilliseconds, requestMilliseconds, keepAliveMilliseconds, idleMilliseconds } =
    options.timeouts ?? defaultTimeouts
  const app = Fastify({
    loggerInstance: logger,
    genReqId: ({ headers }) => saneRequestId(headers['x-request-id']) ?? uuidv4(),
    // log-requests.ts writes the one line a request.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: maxBodyBytes,
    http: {
      headersTimeout: headersMilliseconds,
      connectionsCheckingInterval: Math.min(lookMilliseconds, headersMilliseconds),
    },
    requestTimeout: requestMilliseconds,
    keepAliveTimeout: keepAliveMilliseconds,
    connectionTimeout: idleMilliseconds,
    // A request that comes on an open connection while the gateway stops is answered like any other.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    frameworkErrors: answerBadUrl,
    clientErrorHandler: answerClientError,
    // An id may be long in percent-encoding; what is too long to be one is answered like any id that nobody has.
    routerOptions: { maxParamLength: 16_384 },
  })
  const chooseReads = createChooseReads(options.recentWrites)
  const admit = createAdmission(options.rateLimit ?? unlimited)
  const authenticator = createAuthenticator(services.database, logger, rememberKeyMilliseconds)
  app.addHook('onClose', () => authenticator.settle())

  app.decorateRequest('viewer', null)
  app.decorateRequest('operation', undefined)
  app.decorateRequest('sqlCount')
  app.addHook('onRequest', async (request, reply) => {
    const count: StatementCount = { statements: 0 }
    request.sqlCount = count
    reply.raw.once('close', () => {
      count.isAbandoned = !reply.raw.writableFinished
    })
    setCommonHeaders(reply)
  })

  traceRequests(app, options.tracing)
  readJsonBodies(app)
  answerErrors(app)
  logRequests(app, services.metrics)
  if (corsOrigins.length > 0) await app.register(cors, corsFor(corsOrigins))
  await shedLoad(app, options.load ?? defaultLoad, services.metrics)

  const methods = collectMethods(app)
  registerHealth(app, services.database)
  if (options.metricsPort === undefined) registerMetrics(app, services.metrics)
  registerOpenApi(app)
  registerRest(app, { services, meter, authenticator, admit, chooseReads })
  registerGraphQL(app, { ...options, authenticator, admit, chooseReads })
  // A copy, since what it registers is noted as well.
  refuseOtherMethods(app, structuredClone(methods))

  // Those who follow jobs are told that this is the end, or they would keep the gateway from ending.
  app.addHook('preClose', () => services.changes.close())
  drainConnections(app)
  return app
}

/** The caller's own request id, where it is one that a log can hold. */
function saneRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\w.:/+=-]{1,128}$/.test(header) ? header : undefined
}

function corsFor(origins: readonly string[]) {
  return {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT'],
    allowedHeaders: ['content-type', 'idempotency-key', 'x-api-key', 'x-request-id'],
    exposedHeaders: [
      'idempotent-replayed',
      'link',
      'location',
      'ratelimit',
      'ratelimit-policy',
      'retry-after',
      'x-cost',
      'x-request-id',
    ],
    maxAge: 600,
  }
}

/** Notes which methods each path gets from here on. */
function collectMethods(app: FastifyInstance): Map<string, Set<string>> {
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set()
    for (const name of [method].flat()) known.add(name)
    methods.set(url, known)
  })
  return methods
}
