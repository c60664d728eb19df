import type { ExecutionResult } from 'graphql'
import type { Viewer } from '../../auth/viewer.ts'
import type { ChangeLog } from '../../change-log.ts'
import type { Services } from '../../context.ts'
import { GatewayError, retryAfterSeconds, withHeaders } from '../../errors.ts'
import type { OperationLimits } from '../../limits/limits.ts'
import type { RecentWrites } from '../../limits/recent-writes.ts'
import type { Client } from '../../telemetry/usage.ts'
import {
  createAdmissions,
  createUsageRecorder,
  lengthOf,
  longResponse,
  maxResponseLength,
  mebibyte,
  pointsOfLength,
  requireResponseLength,
  usedPoints,
} from './admit.ts'
import {
  countErrors,
  executeIfPossible,
  executeOnce,
  type OperationRequest,
  type OperationResponse,
} from './execute.ts'
import { createPreparer, type Preparation, type PreparedOperation, type Preparer } from './prepare/prepare.ts'
import type { Schemas } from './prepare/schemas.ts'
import { createResponseMemory } from './response-memory.ts'
import { createSubscribe, type Subscribe } from './subscribe.ts'
import { type KeptResponse, WrittenResult } from './written-result.ts'

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
  executeAdmitted(request: OperationRequest): Promise<OperationResponse>
  readonly subscribe: Subscribe
  /** Called when the process stops. */
  close(): void
}

/** A document with errors costs a point for so many characters: validating 100,000 takes up to 80 ms. */
const charactersPerPoint = 100

export interface OperationsOptions {
  readonly schemas: Schemas
  readonly services: Services
  readonly limits: OperationLimits
  /** The keys that have written recently; undefined if there are no replicas. */
  readonly recentWrites?: RecentWrites | undefined
  readonly introspection: boolean
  /** The most bytes of responses that are kept, and the log that says whether they are right. Otherwise none is. */
  readonly responseCacheBytes?: number
  /** How long a request waits for the log, before it is executed: 250 ms. */
  readonly logMilliseconds?: number
  readonly changeLog?: ChangeLog
}

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

/** Returns the functions that run operations. */
export function createOperations(options: OperationsOptions): Operations {
  const {
    schemas,
    services,
    limits,
    recentWrites,
    introspection,
    responseCacheBytes: maxBytes = 0,
    logMilliseconds: waitMilliseconds,
    changeLog,
  } = options
  const { queues, unsent } = limits
  const preparer = createPreparer({ ...services, schemas, introspection })
  const usage = createUsageRecorder(services.usageCounts)
  const admissions = createAdmissions(limits.points, usage)
  const subscribe = createSubscribe({ admissions, limits })
  const memory =
    changeLog && maxBytes > 0
      ? createResponseMemory({ ...services, maxBytes, changeLog, queue: queues.checks, waitMilliseconds })
      : undefined

  async function prepareInTurn(...[viewer, text, operationName, isAbandoned]: Parameters<Operations['prepareFor']>) {
    const prepare = () => preparer.prepare(text, operationName)
    if (text === undefined || preparer.isPrepared(text, operationName)) return prepare()
    await limits.points.spend(viewer, 0)
    const prepared = await queues.parsing.run(viewer, prepare, isAbandoned)
    const points = prepared.errors ? Math.floor(text.length / charactersPerPoint) : 0
    if (points > 0) await limits.points.charge(viewer, points)
    return prepared
  }

  /**
   * Admits a query or a mutation, executes it or has its response in the memory, gives back the points that it did not
   * use, and counts the response until it is sent.
   */
  async function run(request: OperationRequest): Promise<OperationResponse> {
    const { operation, context, statements, held } = request
    const { viewer } = context
    const points = await admissions.admit(request)
    // Before the first statement of the query, so that nothing is missed that the query does not see.
    const asksPosition = request.withPosition === true && operation.kind === 'query'
    const position = asksPosition ? await changeLog?.readPosition(context) : undefined
    const remembered = request.readsAnew ? undefined : await memory?.find(request)
    try {
      await unsent.check(viewer)
      const execute = () => executeAdmitted(request, position !== undefined || remembered?.keep !== undefined)
      const executeInTurn = () =>
        isLong(operation, points.requested)
          ? queues.operations.run(viewer, execute, () => statements.isAbandoned === true)
          : execute()
      const response = remembered?.response ? await responseOf(request, remembered.response) : await executeInTurn()
      statements.isKept = remembered?.response !== undefined
      const { result, length, isStored } = response
      const goesOn = request.goesOn?.(result) === true
      if (!goesOn) await points.settle(pointsOfLength(length) * (isStored ? storedFactor : 1))
      // A mutation has had its effect, so its response must say so, whatever its length.
      if (operation.kind === 'query') requireResponseLength(length)
      if (length >= longResponse) {
        const size = Math.ceil(length / mebibyte)
        held.untilOver(operation.kind === 'query' ? await unsent.take(viewer, size) : unsent.hold(viewer, size))
      }
      const { requested, points: actual, budget } = points
      const cost = { requested, actual, remaining: budget?.remaining ?? null }
      const extensions = { cost, ...(position !== undefined && { position }) }
      const { data, errors } = remembered?.keep && !goesOn ? result : noResult
      const kept = remembered?.response ?? (data && !errors ? remembered?.keep?.({ data, length }) : undefined)
      return {
        ...response,
        kept,
        result: kept ? new WrittenResult(kept, extensions) : { ...result, extensions },
        headers: { ...points.headers, ...(remembered && cacheStatusOf(remembered.response)), ...response.headers },
      }
    } catch (error) {
      if (!points.hasBegun) await points.settle()
      throw error instanceof GatewayError ? withHeaders(error, points.headers) : error
    } finally {
      remembered?.release()
    }
  }

  /**
   * Executes an admitted operation: a query on the primary or a replica, a mutation once per idempotency key.
   *
   * @param isCurrent whether it must be read from the primary, because the log is read there: the response is kept, or
   *   its client follows the log
   */
  async function executeAdmitted(request: OperationRequest, isCurrent = false): Promise<OperationResponse> {
    const { operation, context, statements, held } = request
    const { viewer } = context
    const { keyId } = viewer
    const isQuery = operation.kind === 'query'
    // A key sees what it wrote: its queries read from no replica for a while.
    if (isQuery && recentWrites) statements.mayLag = !isCurrent && !(await recentWrites.has(keyId))
    statements.payer = viewer
    if (!isQuery) statements.actor = `${keyId} ${statements.requestId}`
    const waits = { pending: 0, since: 0, milliseconds: 0 }
    statements.waits = waits
    const startedAt = performance.now()
    let outcome: Outcome
    try {
      outcome = await executeOnceOrNow(request)
    } finally {
      // After the write, and before the client gets the response.
      if (!isQuery) await recentWrites?.note(keyId)
    }
    const { result, isReplay, isStored } = outcome
    if (!isReplay) held.points?.use(usedPoints(request, result))
    const codes = countErrors(result, context)
    // A field without its scope has an error in each row.
    const toSend = result.errors ? [result.data, result.errors] : result.data
    const length = lengthOf(toSend, isQuery ? maxResponseLength : Number.POSITIVE_INFINITY)
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

  async function executeOnceOrNow(request: OperationRequest): Promise<Outcome> {
    const { operation, idempotencyKey } = request
    if (operation.kind === 'mutation' && idempotencyKey !== undefined) {
      return executeOnce(request, idempotencyKey, services.idempotency)
    }
    return { result: await executeIfPossible(request), isReplay: false, isStored: false }
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
    runOperation: (request) =>
      usage.record(
        request,
        () => run(request),
        ({ result }) => result.errors !== undefined,
      ),
    executeAdmitted: (request) => executeAdmitted(request),
    close: () => memory?.close(),
    subscribe: (request) =>
      usage.record(
        request,
        () => subscribe(request),
        ({ events }) => !(Symbol.asyncIterator in events),
      ),
  }
}

const noResult: ExecutionResult = {}

/** A response from the memory. What is sent of it is its text. The trace has its operation, as if it ran. */
async function responseOf({ operation, context }: OperationRequest, kept: KeptResponse): Promise<OperationResponse> {
  await context.trace?.operation(operation.kind, operation.name, async () => noResult)
  return { result: noResult, length: kept.length, isStored: false, headers: {} }
}

/** Whether a response is from the memory. @see https://www.rfc-editor.org/rfc/rfc9211 */
function cacheStatusOf(kept: KeptResponse | undefined) {
  return { 'cache-status': kept ? 'fusion; hit' : 'fusion; fwd=miss' }
}

type Outcome = Awaited<ReturnType<typeof executeOnce>>
