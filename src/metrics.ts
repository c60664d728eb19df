import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** What a process measures of itself, as Prometheus reads it. */
export type Metrics = ReturnType<typeof createMetrics>

/** As many operations have a series of their own. */
const maxNames = 100

/** The metrics of a gateway or a worker, all of them at nothing. */
export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const names = new Set<string>()
  const statementSeconds = new Histogram({
    name: 'fusion_sql_statement_duration_seconds',
    help: 'How long SQL statements took, with the wait for a connection',
    labelNames: ['outcome'] as const,
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers,
  })

  return {
    registry,

    requestSeconds: new Histogram({
      name: 'fusion_http_request_duration_seconds',
      help: 'How long requests took, by route, operation and status',
      labelNames: ['route', 'operation', 'status'] as const,
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
      registers,
    }),

    requestsInFlight: new Gauge({
      name: 'fusion_http_requests_in_flight',
      help: 'Requests that are being answered, without subscriptions',
      registers,
    }),

    requestsShed: new Counter({
      name: 'fusion_http_requests_shed_total',
      help: 'Requests refused since there was too much to do',
      labelNames: ['reason'] as const,
      registers,
    }),

    requestsRateLimited: new Counter({
      name: 'fusion_rate_limited_total',
      help: 'Operations refused since the key had spent its points',
      registers,
    }),

    rateLimitIsAlone: new Gauge({
      name: 'fusion_rate_limit_alone',
      help: '1 while Redis does not answer and this process counts the points of keys alone',
      registers,
    }),

    graphqlErrors: new Counter({
      name: 'fusion_graphql_errors_total',
      help: 'Errors in answers, by code',
      labelNames: ['code'] as const,
      registers,
    }),

    operationRuns: new Counter({
      name: 'fusion_graphql_runs_total',
      help: 'Operations run, by executor: compiled by graphql-jit, or interpreted by graphql-js',
      labelNames: ['executor'] as const,
      registers,
    }),

    operationsCompiled: new Counter({
      name: 'fusion_graphql_compiled_total',
      help: 'Operations compiled: one that is rising all the time means that documents are not asked again',
      registers,
    }),

    batchSize: new Histogram({
      name: 'fusion_batch_size',
      help: 'How many keys a batched read reads at once',
      buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000],
      registers,
    }),

    replicaIsUsable: new Gauge({
      name: 'fusion_replica_usable',
      help: '1 while reads go to the replica, 0 while it is away or behind',
      labelNames: ['replica'] as const,
      registers,
    }),

    /** Notes how long a statement took. */
    observeStatement(seconds: number, hasFailed: boolean): void {
      statementSeconds.observe({ outcome: hasFailed ? 'failed' : 'ok' }, seconds)
    },

    /** The name of an operation as a label: callers choose it, so there is a bound. */
    operationLabel(name: string | undefined): string {
      if (name === undefined || names.has(name)) return name ?? ''
      if (names.size >= maxNames) return 'other'
      names.add(name)
      return name
    },
  }
}

/** Connections of one process, at this moment. */
interface Connections {
  readonly inUse: number
  readonly idle: number
  readonly waiting: number
}

/** Measures what is the process's own besides: memory, garbage collection, the event loop, and its connections. */
export function measureProcess({ registry }: Metrics, connections: () => Connections): void {
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'fusion_database_connections',
    help: 'Connections to the database in use and idle, and statements that wait for one',
    labelNames: ['state'] as const,
    registers: [registry],
    collect() {
      const { inUse, idle, waiting } = connections()
      this.set({ state: 'in_use' }, inUse)
      this.set({ state: 'idle' }, idle)
      this.set({ state: 'waiting' }, waiting)
    },
  })
}
