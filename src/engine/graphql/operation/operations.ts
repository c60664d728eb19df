import type { Viewer } from '../../auth/viewer.ts'
import type { Services } from '../../context.ts'
import type { StatementMeter } from '../../db/statement-meter.ts'
import { GatewayError, retryAfterSeconds, withHeaders } from '../../errors.ts'
import type { OperationLimits } from '../../limits/limits.ts'
import type { RecentWrites } from '../../limits/recent-writes.ts'
import type { Client } from '../../telemetry/usage/client.ts'
import {
  type Admissions,
  createAdmissions,
  createUsageRecorder,
  lengthOf,
  longResponse,
  maxResponseLength,
  mebibyte,
  pointsOfLength,
  requireResponseLength,
} from './admit.ts'
import { countErrors, executeOnce, executeOperation, type OperationRequest, type OperationResponse } from './execute.ts'
import { createPreparer, type Preparation, type PreparedOperation, type Preparer } from './prepare/prepare.ts'
import type { Schemas } from './prepare/schemas.ts'
import { createSubscribe, type Subscribe } from './subscribe.ts'

/**
 * Operations from these costs on are queued. A query of 5,000 nodes takes tens of milliseconds of the event loop. The
 * response of a mutation is not bounded: each of 16 jobs in it may have the longest payload and result.
 */
const longCosts = { query: 5_000, mutation: 16, subscription: Number.POSITIVE_INFINITY }

/**
 * Operations whose last runs kept the event loop busy for longer are queued, and those that have not run yet from this
 * cost on.
 */
const long = { milliseconds: 10, costOfUnknown: 100 }

function isLong({ kind, busyMilliseconds }: PreparedOperation, cost: number): boolean {
  if (cost >= longCosts[kind]) return true
  const milliseconds = busyMilliseconds()
  return milliseconds === undefined ? cost >= long.costOfUnknown : milliseconds > long.milliseconds
}

/** The factor for the cost of a response that is stored for its idempotency key. */
const storedFactor = 10

interface PipelineOptions {
  readonly admissions: Admissions
  readonly limits: OperationLimits
  readonly execute: ExecuteAdmitted
}

/**
 * Creates the pipeline of queries and mutations: admitted, executed in turn, paid for by length, and counted until
 * sent.
 */
function createPipeline({ admissions, limits, execute }: PipelineOptions) {
  const { queues, unsent } = limits

  /** Executes an admitted operation, from a fair queue if it is long. */
  function executeInTurn(request: OperationRequest, cost: number): Promise<OperationResponse> {
    const { operation, context, statements } = request
    if (!isLong(operation, cost)) return execute(request)
    return queues.operations.run(
      context.viewer,
      () => execute(request),
      () => statements.isAbandoned === true,
    )
  }

  /**
   * Counts a long response until the client has received it.
   *
   * @throws GatewayError RATE_LIMITED, after a second, if the clients of the key, the tenant or the user have too many
   *   unread responses
   */
  async function countUntilSent({ operation, context, held }: OperationRequest, length: number): Promise<void> {
    if (length < longResponse) return
    const { viewer } = context
    const size = Math.ceil(length / mebibyte)
    // A mutation has had its effect, so its response must say so.
    held.untilOver(operation.kind === 'mutation' ? unsent.hold(viewer, size) : await unsent.take(viewer, size))
  }

  return async (request: OperationRequest): Promise<OperationResponse> => {
    const { operation, context } = request
    let admission = await admissions.admit(request)
    try {
      await unsent.check(context.viewer)
      const response = await executeInTurn(request, admission.cost)
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

/**
 * Runs the operations of both APIs: prepares them, takes their cost, chooses the server for their reads, executes
 * mutations once per idempotency key, and reports cost and retries.
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
   * Runs a query or a mutation.
   *
   * @throws GatewayError if the operation is not executed: its budget or its idempotency key does not allow it
   */
  runOperation(request: OperationRequest): Promise<OperationResponse>
  /** Executes an operation that was admitted before: the next page of a list. */
  readonly executeAdmitted: ExecuteAdmitted
  readonly subscribe: Subscribe
}

/** A document with errors costs a point for so many characters: validating 100,000 takes up to 80 ms. */
const charactersPerPoint = 100

export interface OperationsOptions {
  readonly schemas: Schemas
  readonly services: Services
  readonly meter: StatementMeter
  readonly limits: OperationLimits
  /** The keys that have written recently; undefined if there are no replicas. */
  readonly recentWrites?: RecentWrites | undefined
  readonly introspection: boolean
  /** Whether operations of clients without a name are rejected. */
  readonly requiresClientName?: boolean
}

/** Returns the functions that run operations. */
export function createOperations(options: OperationsOptions): Operations {
  const { schemas, services, meter, limits, introspection, requiresClientName = false } = options
  const preparer = createPreparer({ ...services, schemas, introspection })
  const usage = createUsageRecorder(services.usageCounts, requiresClientName)
  const admissions = createAdmissions(limits.points, usage)
  const executeAdmitted = createExecuteAdmitted(options)
  const run = createPipeline({ admissions, limits, execute: executeAdmitted })
  const subscribe = createSubscribe({ admissions, meter, limits })

  async function prepareInTurn(...[viewer, text, operationName, isAbandoned]: Parameters<Operations['prepareFor']>) {
    const prepare = () => preparer.prepare(text, operationName)
    if (text === undefined || preparer.isPrepared(text, operationName)) return prepare()
    await limits.points.spend(viewer, 0)
    const prepared = await limits.queues.steps.run(viewer, prepare, isAbandoned)
    const points = prepared.errors ? Math.floor(text.length / charactersPerPoint) : 0
    if (points > 0) await limits.points.charge(viewer, points)
    return prepared
  }

  return {
    ...preparer,
    async prepareFor(...request) {
      const startedAt = performance.now()
      const prepared = await prepareInTurn(...request)
      const [viewer, , , , client] = request
      if (prepared.errors) usage.recordInvalid(viewer, client, performance.now() - startedAt)
      return prepared
    },
    executeAdmitted,
    runOperation: (request) =>
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

type ExecuteAdmitted = (request: OperationRequest) => Promise<OperationResponse>

interface ExecuteOptions {
  readonly services: Services
  readonly meter: StatementMeter
  /** The keys that have written recently; undefined if there are no replicas. */
  readonly recentWrites?: RecentWrites | undefined
}

/**
 * Returns a function that executes admitted operations: on the primary or a replica, and mutations once per
 * idempotency key.
 */
function createExecuteAdmitted({ services, meter, recentWrites }: ExecuteOptions): ExecuteAdmitted {
  const { idempotency } = services

  async function executeOnceOrNow(request: OperationRequest) {
    const { operation, idempotencyKey } = request
    if (operation.kind === 'mutation' && idempotencyKey !== undefined) {
      return executeOnce(request, idempotencyKey, idempotency)
    }
    return { result: await executeOperation(request), isReplay: false, isStored: false }
  }

  /** Queries may read from replicas, unless their key has written recently: then they see what it wrote. */
  async function onChosenServer<Result>(
    { operation, context, statements }: OperationRequest,
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (!recentWrites) return work()
    const { keyId } = context.viewer
    if (operation.kind === 'query') {
      statements.mayLag = !(await recentWrites.has(keyId))
      return work()
    }
    try {
      return await work()
    } finally {
      // After the write, and before the client gets the response.
      await recentWrites.note(keyId)
    }
  }

  return async (request) => {
    const { operation, context, statements } = request
    let startedAt = 0
    const waits = { pending: 0, since: 0, milliseconds: 0 }
    const work = () => {
      startedAt = performance.now()
      statements.waits = waits
      statements.payer = context.viewer
      if (operation.kind === 'mutation') statements.actor = `${context.viewer.keyId} ${statements.requestId}`
      return meter.run(statements, () => executeOnceOrNow(request))
    }
    const { result, isReplay, isStored } = await onChosenServer(request, work)
    const codes = countErrors(result, context)
    // A field without its scope has an error in each row.
    const toSend = result.errors ? [result.data, result.errors] : result.data
    const length = lengthOf(toSend, operation.kind === 'mutation' ? Number.POSITIVE_INFINITY : maxResponseLength)
    operation.addRunTime(performance.now() - startedAt - waits.milliseconds)
    return {
      result,
      length,
      isStored,
      headers: {
        ...(isReplay && { 'idempotent-replayed': 'true' }),
        ...(codes.includes('SERVICE_UNAVAILABLE') && { 'retry-after': String(retryAfterSeconds) }),
      },
    }
  }
}
