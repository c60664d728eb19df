import type { Viewer } from '../../auth/viewer.ts'
import type { Services } from '../../context.ts'
import type { StatementMeter } from '../../db/statement-meter.ts'
import { GatewayError, withHeaders } from '../../errors.ts'
import { type ConcurrencyLimit, createConcurrencyLimit } from '../../limits/concurrency-limit.ts'
import type { FairQueue } from '../../limits/fair-queue.ts'
import type { RateLimit } from '../../limits/rate-limit.ts'
import type { RecentWrites } from '../../limits/recent-writes.ts'
import type { Client } from '../../telemetry/usage/client.ts'
import { type Admissions, createAdmissions, pointsOfLength } from './admit.ts'
import { createExecute, type OperationRequest, type OperationResponse } from './execute-request.ts'
import { createPreparer, type Preparation, type PreparedOperation, type Preparer } from './prepare/prepare.ts'
import type { Schemas } from './prepare/schemas.ts'
import { createUsageRecorder } from './record-usage.ts'
import { longResponse, mebibyte, requireResponseLength } from './response-length.ts'
import { createSubscribe, type Subscribe } from './subscribe.ts'

/**
 * Runs the operations of both APIs: prepares them, takes their cost, chooses the server for their reads, executes mutations
 * once per idempotency key, and reports cost and retries.
 */
export interface Operations extends Preparer {
  /**
   * Prepares the document of a client. New documents are queued, and a document with errors costs points.
   *
   * @param isAbandoned whether the client has gone
   * @throws GatewayError RATE_LIMITED if the document is new and no points are left
   */
  prepareFor(
    viewer: Viewer,
    text: string | undefined,
    operationName: string | null | undefined,
    isAbandoned: () => boolean,
    client?: Client,
  ): Promise<Preparation>
  /**
   * Admits and executes a query or a mutation.
   *
   * @throws GatewayError if the operation is not executed: its budget or its idempotency key does not allow it
   */
  run(request: OperationRequest): Promise<OperationResponse>
  /** Executes an operation that was admitted before: the next page of a list. */
  execute(request: OperationRequest): Promise<OperationResponse>
  readonly subscribe: Subscribe
}

/**
 * Operations from these costs on are queued. A query of 5,000 nodes takes tens of milliseconds of the event loop. The response of a
 * mutation is not bounded: each of 16 jobs in it may have the longest payload and result.
 */
const longCosts = { query: 5_000, mutation: 16, subscription: Number.POSITIVE_INFINITY }

/** Operations whose last runs kept the event loop busy for longer are queued, and those that have not run yet from this cost on. */
const long = { milliseconds: 10, costOfUnknown: 100 }

function isLong({ kind, busyMilliseconds }: PreparedOperation, cost: number): boolean {
  if (cost >= longCosts[kind]) return true
  const milliseconds = busyMilliseconds()
  return milliseconds === undefined ? cost >= long.costOfUnknown : milliseconds > long.milliseconds
}

/** A document with errors costs a point for so many characters: validating 100,000 takes up to 80 ms. */
const charactersPerPoint = 100

/** The factor for the cost of a response that is stored for its idempotency key. */
const storedFactor = 10

export interface OperationsOptions {
  readonly schemas: Schemas
  readonly services: Services
  readonly meter: StatementMeter
  readonly rateLimit: RateLimit
  /** The keys that have written recently; undefined if there are no replicas. */
  readonly recentWrites?: RecentWrites | undefined
  readonly introspection: boolean
  readonly maxSubscriptionsPerKey: number
  /** The most MiB of unread long responses of the clients of one key. */
  readonly maxUnsentMibPerKey: number
  /** Whether operations of clients without a name are rejected. */
  readonly requiresClientName?: boolean
}

/** Creates the functions that run operations. */
export function createOperations(options: OperationsOptions): Operations {
  const { schemas, services, meter, rateLimit, introspection, requiresClientName = false } = options
  const preparer = createPreparer({ schemas, introspection, metrics: services.metrics })
  const usage = createUsageRecorder(services.usageCounts, requiresClientName)
  const admissions = createAdmissions(rateLimit, usage)
  const things = 'MiB of responses that its clients have not read'
  const unsent = createConcurrencyLimit(options.maxUnsentMibPerKey, things, 'MAX_UNSENT_MIB_PER_KEY')
  const execute = createExecute(options)
  const run = createRun({ admissions, unsent, execute, queue: services.queues.operations })
  const subscribe = createSubscribe({ admissions, meter, unsent, maxPerKey: options.maxSubscriptionsPerKey })

  async function prepareQueued(...[viewer, text, operationName, isAbandoned]: Parameters<Operations['prepareFor']>) {
    const prepare = () => preparer.prepare(text, operationName)
    if (text === undefined || preparer.isPrepared(text, operationName)) return prepare()
    await rateLimit.spend(viewer, 0)
    const prepared = await services.queues.steps.run(viewer, prepare, isAbandoned)
    const points = prepared.errors ? Math.floor(text.length / charactersPerPoint) : 0
    if (points > 0) await rateLimit.charge(viewer, points)
    return prepared
  }

  return {
    ...preparer,
    async prepareFor(...request) {
      const startedAt = performance.now()
      const prepared = await prepareQueued(...request)
      const [viewer, , , , client] = request
      if (prepared.errors) usage.recordInvalid(viewer, client, performance.now() - startedAt)
      return prepared
    },
    execute,
    run: (request) =>
      usage.record(
        request,
        () => run(request),
        ({ result }) => result.errors !== undefined,
      ),
    subscribe: (request) =>
      usage.record(
        request,
        () => subscribe(request),
        ({ events }) => !(Symbol.asyncIterator in events),
      ),
  }
}

interface RunOptions {
  readonly admissions: Admissions
  /** The MiB of unread responses of the clients of each key. */
  readonly unsent: ConcurrencyLimit
  readonly execute: Operations['execute']
  readonly queue: FairQueue
}

function createRun({ admissions, unsent, execute, queue }: RunOptions): Operations['run'] {
  /** Executes an admitted operation, from a fair queue if it is long. */
  function executeQueued(request: OperationRequest, cost: number): Promise<OperationResponse> {
    const { operation, context, statements } = request
    const run = () => execute(request)
    if (!isLong(operation, cost)) return run()
    return queue.run(context.viewer, run, () => statements.isAbandoned === true)
  }

  /**
   * Counts a long response until the client has received it.
   *
   * @throws GatewayError RATE_LIMITED, after a second, if the clients of the key, the tenant or the user have too many unread responses
   */
  async function countUntilSent({ operation, context, onSent }: OperationRequest, length: number): Promise<void> {
    if (length < longResponse) return
    const { viewer } = context
    const size = Math.ceil(length / mebibyte)
    // A mutation has had its effect, so its response must say so.
    onSent(operation.kind === 'mutation' ? unsent.hold(viewer, size) : await unsent.take(viewer, size))
  }

  return async (request) => {
    const { operation, context } = request
    let admission = await admissions.admit(request)
    try {
      await unsent.check(context.viewer)
      const response = await executeQueued(request, admission.cost)
      const { result, length, isStored } = response
      admission = await admissions.raise(request, admission, pointsOfLength(length) * (isStored ? storedFactor : 1))
      // A mutation has had its effect, so its response must say so.
      if (operation.kind === 'query') requireResponseLength(length)
      await countUntilSent(request, length)
      const { cost: requested, budget, headers } = admission
      const actual = operation.countNodes(result.data)
      const cost = { requested, actual, remaining: budget?.remaining ?? null }
      return { ...response, result: { ...result, extensions: { cost } }, headers: { ...headers, ...response.headers } }
    } catch (error) {
      throw error instanceof GatewayError ? withHeaders(error, admission.headers) : error
    }
  }
}
