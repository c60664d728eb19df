import type { LimitName } from '@fusion-gateway/base'
import type { StatementEnd } from '@fusion-gateway/sql'
import { Counter, Gauge, type GaugeConfiguration, Histogram, type LabelValues, Registry } from '@prometheus-io/client'
import { LRUCache } from 'lru-cache'

export type Metrics = ReturnType<typeof createMetrics>

/** How many operation names get their own series: of all tenants, and of one tenant. */
const maxNames = 100

const maxNamesPerTenant = 50

/**
 * The limits of the concurrency of a process. A metric that is older than the one of all limits counts them too, for
 * alerts and dashboards. New limits are not added.
 */
const loadLimits: ReadonlySet<LimitName> = new Set<LimitName>([
  'in_flight',
  'event_loop',
  'in_flight_of_key',
  'arriving_of_key',
  'sockets_of_key',
])

/** The functions that create metrics of a registry: of their name, help and names of labels. */
export function metricsIn(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })
  return {
    counter,
    /**
     * A counter whose series begin with 0. Prometheus knows no growth of a series that begins with the first event, so
     * an alert would miss it.
     */
    counterOf<Label extends string>(name: string, help: string, label: Label, values: Iterable<string>) {
      const created = counter(name, help, label)
      for (const value of values) created.inc({ [label]: value } as LabelValues<Label>, 0)
      return created
    },
    gauge: <Label extends string>(
      name: string,
      help: string,
      options: Pick<GaugeConfiguration<Label>, 'labelNames' | 'aggregator' | 'collect'> = {},
    ) => new Gauge<Label>({ name, help, registers, ...options }),
    histogram: <Label extends string>(name: string, help: string, buckets: number[], ...labelNames: Label[]) =>
      new Histogram({ name, help, labelNames, buckets, registers }),
  }
}

/**
 * @param options.showsTenants whether there are series by key and by operation. Whoever can read the metrics sees then
 *   what others do
 */
export function createMetrics({ showsTenants = true } = {}) {
  const registry = new Registry()
  const { counter, counterOf, gauge, histogram } = metricsIn(registry)
  const statementSeconds = histogram(
    'fusion_sql_statement_duration_seconds',
    'Duration of SQL statements, with the wait for a connection',
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    'outcome',
  )
  const batchSize = histogram(
    'fusion_batch_size',
    'Number of keys per batched read',
    [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000],
  )

  return {
    registry,
    requestSeconds: histogram(
      'fusion_http_request_duration_seconds',
      'Duration of requests by route, operation and status',
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
      'route',
      'operation',
      'status',
    ),
    requestsInFlight: gauge('fusion_http_requests_in_flight', 'Requests in flight, without subscriptions'),
    webSockets: gauge('fusion_websockets', 'Open WebSockets'),
    countPoints: countPointsByKey(registry, { showsKeys: showsTenants }),
    rateLimitIsAlone: gauge(
      'fusion_rate_limit_alone',
      '1 while Redis does not answer and this process counts points by itself',
      { aggregator: 'max' },
    ),
    graphqlErrors: counterOf('fusion_graphql_errors_total', 'Errors of executed operations by code', 'code', [
      'INTERNAL',
      'SERVICE_UNAVAILABLE',
    ]),
    operationRuns: counter(
      'fusion_graphql_runs_total',
      'Executed operations by executor: compiled by graphql-jit, or interpreted by graphql-js',
      'executor',
    ),
    operationsCompiled: counter(
      'fusion_graphql_compiled_total',
      'Compiled operations. A steady rise means that clients do not repeat their documents',
    ),
    keptResponses: {
      lookups: counter(
        'fusion_response_cache_lookups_total',
        'Queries whose response was looked for in the memory of responses by outcome: hit or miss',
        'outcome',
      ),
      invalidations: counter(
        'fusion_response_cache_invalidations_total',
        'Responses that the memory has forgotten because of a change',
      ),
      bytes: gauge('fusion_response_cache_bytes', 'The memory that kept responses take, in bytes, about'),
    },
    replicaIsUsable: gauge('fusion_replica_usable', '1 while reads use the replica, 0 while it is down or lags', {
      labelNames: ['replica'],
      aggregator: 'min',
    }),
    eventsStalledSeconds: gauge(
      'fusion_events_stalled_seconds',
      'How long a transaction that stays open keeps later events from being read, from 30 seconds on; 0 otherwise',
      { aggregator: 'max' },
    ),
    jobAttempts: counterOf(
      'fusion_job_attempts_total',
      'Attempts of jobs that have ended by outcome: succeeded, failed, retried later, or lease_lost by a worker that has gone',
      'outcome',
      ['succeeded', 'failed', 'retried', 'lease_lost'],
    ),
    webhookDeliveries: counterOf(
      'fusion_webhook_deliveries_total',
      'Attempts to deliver an event to a webhook by outcome: succeeded, failed, or postponed without asking the endpoint',
      'outcome',
      ['succeeded', 'failed', 'postponed'],
    ),
    webhooksDisabled: counterOf(
      'fusion_webhooks_disabled_total',
      'Webhooks that the gateway has disabled by reason: gone (410), failing (for five days), key (revoked or expired)',
      'reason',
      ['gone', 'failing', 'key'],
    ),
    logLinesDropped: counter(
      'fusion_log_lines_dropped_total',
      'Lines of the log dropped because standard output took none and the buffer was full',
    ),

    countRefusal: countRefusals(registry),
    noteNumbers: measureNumbers(registry),
    operationLabel: showsTenants ? createOperationLabels() : () => '',
    observeBatch: (size: number) => batchSize.observe(size),

    /** Observes how long a statement takes, from now to the call of the function that this returns. */
    observeStatement(): StatementEnd {
      const startedAt = performance.now()
      return (error) => {
        const seconds = (performance.now() - startedAt) / 1_000
        statementSeconds.observe({ outcome: error === undefined ? 'ok' : 'failed' }, seconds)
      }
    },
  }
}

function countRefusals(registry: Registry) {
  const { counter, counterOf } = metricsIn(registry)
  const refusals = counter(
    'fusion_refusals_total',
    'Requests and operations refused by limit (docs/limits.md)',
    'limit',
  )
  const shed = counterOf(
    'fusion_http_requests_shed_total',
    'Requests rejected because of too much load',
    'reason',
    loadLimits,
  )
  const rateLimited = counter('fusion_rate_limited_total', 'Operations rejected because too few points were left')

  return (limit: LimitName): void => {
    refusals.inc({ limit })
    if (loadLimits.has(limit)) shed.inc({ reason: limit })
    if (limit === 'points') rateLimited.inc()
  }
}

/** Returns what notes that numbers of a name were read from the database now, or that they are no longer read. */
function measureNumbers(registry: Registry) {
  const readAt = new Map<string, number>()
  metricsIn(registry).gauge(
    'fusion_numbers_age_seconds',
    'How old the numbers of jobs and of stalled events are, which stay while the database does not answer',
    {
      labelNames: ['numbers'],
      aggregator: 'max',
      collect() {
        this.reset()
        for (const [numbers, at] of readAt) this.set({ numbers }, (performance.now() - at) / 1_000)
      },
    },
  )
  return (name: string, isRead = true): void => {
    if (isRead) readAt.set(name, performance.now())
    else readAt.delete(name)
  }
}

/**
 * Returns the label of an operation's name. Clients choose the names, so their number is bounded, and no tenant can use
 * all of them.
 */
function createOperationLabels() {
  const names = new Set<string>()
  const namesByTenant = new Map<string, number>()
  return (name: string | undefined, tenantAppId = ''): string => {
    if (name === undefined || names.has(name)) return name ?? ''
    const ofTenant = namesByTenant.get(tenantAppId) ?? 0
    if (names.size >= maxNames || ofTenant >= maxNamesPerTenant) return 'other'
    names.add(name)
    namesByTenant.set(tenantAppId, ofTenant + 1)
    return name
  }
}

/** How many keys have a series of their own, and of how many the points are counted. */
const maxShown = 20

const maxCounted = 10_000

/** How often the keys that have a series are chosen again, once there are more of them. */
const choiceMilliseconds = 60_000

/**
 * Counts the points that keys spend. The keys that have spent most lately have a series, and the total has all: tenants
 * create keys as they like, and Prometheus keeps each series for weeks.
 */
export function countPointsByKey(
  registry: Registry,
  {
    showsKeys = true,
    now = () => performance.now(),
  }: { readonly showsKeys?: boolean; readonly now?: () => number } = {},
) {
  const { counter } = metricsIn(registry)
  const total = counter('fusion_points_spent_total', 'Points that all keys have spent')
  if (!showsKeys) return (_key: string, points: number): void => total.inc(points)
  const keys = new LRUCache<string, { total: number; lately: number }>({ max: maxCounted })
  let shown: string[] = []
  let chosenAt = Number.NEGATIVE_INFINITY

  function choose(): void {
    chosenAt = now()
    const spenders = [...keys.entries()].toSorted(([, one], [, other]) => other.lately - one.lately)
    shown = spenders.slice(0, maxShown).map(([key]) => key)
    for (const [, points] of spenders) points.lately /= 2
  }

  new Counter({
    name: 'fusion_points_spent_by_key_total',
    help: `Points by the id of the key, of the ${maxShown} keys that have spent most lately`,
    labelNames: ['key'] as const,
    registers: [registry],
    collect() {
      if (shown.length < maxShown || now() - chosenAt >= choiceMilliseconds) choose()
      this.reset()
      for (const key of shown) this.inc({ key }, keys.get(key)?.total ?? 0)
    },
  })

  return (key: string, points: number): void => {
    total.inc(points)
    const spent = keys.get(key) ?? { total: 0, lately: 0 }
    spent.total += points
    spent.lately += points
    keys.set(key, spent)
  }
}

/**
 * Remembers which limit has refused a request, or a part of it, for its line in the log. The metrics count it once for
 * each request.
 */
export class Refusal {
  limit: LimitName | undefined
  readonly #metrics: Pick<Metrics, 'countRefusal'>

  constructor(metrics: Pick<Metrics, 'countRefusal'>) {
    this.#metrics = metrics
  }

  /** Notes an error that becomes a response. Errors that no limit has caused count nothing. */
  note(error: unknown): void {
    const limit = limitOf(error)
    if (limit === undefined || this.limit !== undefined) return
    this.limit = limit
    this.#metrics.countRefusal(limit)
  }
}

/** The limit that has caused an error, or an error which GraphQL has wrapped. */
function limitOf(error: unknown): LimitName | undefined {
  let cause = error as { readonly limit?: LimitName | undefined; readonly originalError?: unknown } | null | undefined
  while (cause && cause.limit === undefined) cause = cause.originalError as typeof cause
  return cause?.limit
}
