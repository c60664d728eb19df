import type { Viewer } from '../../auth/viewer.ts'
import type { Services } from '../../context.ts'
import type { StatementMeter } from '../../db/statement-meter.ts'
import { GatewayError, retryAfterSeconds, withHeaders } from '../../errors.ts'
import { createKeySlots } from '../../limits/key-slots.ts'
import type { RateLimit } from '../../limits/rate-limit.ts'
import type { RecentWrites } from '../../limits/recent-writes.ts'
import { createAdmissions, pointsOfLength } from './admit.ts'
import { lengthOf, longAnswer, maxAnswerLength, mebibyte, requireAnswerLength } from './answer-length.ts'
import { countErrors, executeOperation } from './execute.ts'
import { executeOnce } from './execute-once.ts'
import type { OperationAnswer, OperationRequest } from './operation-request.ts'
import { createPreparer, type Preparation, type Preparer } from './prepare/prepare.ts'
import type { Schemas } from './prepare/schemas.ts'
import { createSubscribe, type Subscribe } from './subscribe.ts'

/**
 * Runs the operations of both APIs: prepares them, takes their price, chooses the server for their reads, executes mutations
 * once per idempotency key, and reports cost and retries.
 */
export interface Operations extends Preparer {
  /**
   * Prepares the document of a client. New documents are prepared in turns, and one with errors takes points of the key.
   *
   * @param isAbandoned whether the client has gone
   * @throws GatewayError RATE_LIMITED if the document is new and the key has no points left
   */
  prepareFor(
    viewer: Viewer,
    text: string | undefined,
    operationName: string | null | undefined,
    isAbandoned: () => boolean,
  ): Promise<Preparation>
  /**
   * Admits and executes a query or a mutation.
   *
   * @throws GatewayError if the operation is not executed: its budget or its idempotency key does not allow it
   */
  run(request: OperationRequest): Promise<OperationAnswer>
  /** Executes an operation that was admitted before: the next page of a list. */
  execute(request: OperationRequest): Promise<OperationAnswer>
  readonly subscribe: Subscribe
}

/**
 * Operations from these prices on take turns. A query of 5,000 nodes takes tens of milliseconds of the event loop. The answer of a
 * mutation is not bounded: each of 16 jobs in it may have the longest payload and result.
 */
const longPrices = { query: 5_000, mutation: 16, subscription: Number.POSITIVE_INFINITY }

/** A document with errors costs a point for so many characters: validating 100,000 takes up to 80 ms. */
const charactersPerPoint = 100

/** A KiB of an answer that is stored for its idempotency key costs as much as so many KiB of another one. */
const storedFactor = 10

export interface OperationsOptions {
  readonly schemas: Schemas
  readonly services: Services
  readonly meter: StatementMeter
  readonly rateLimit: RateLimit
  /** The keys that have written recently; undefined if there are no replicas. */
  readonly recentWrites?: RecentWrites | undefined
  /** Whether the schema may be introspected. */
  readonly introspection: boolean
  /** The maximum number of subscriptions of one key at a time. */
  readonly maxSubscriptionsPerKey?: number
  /** The most MiB of long answers that the clients of one key have not read, at a time. */
  readonly maxUnsentMibPerKey?: number
}

/** Creates what runs operations. */
export function createOperations({
  schemas,
  services,
  meter,
  rateLimit,
  recentWrites,
  introspection,
  maxSubscriptionsPerKey = 100,
  maxUnsentMibPerKey = 256,
}: OperationsOptions): Operations {
  const { idempotency, metrics } = services
  const preparer = createPreparer({ schemas, introspection, metrics })
  const admissions = createAdmissions(rateLimit)
  const unsent = createKeySlots(
    maxUnsentMibPerKey,
    'MiB of answers that its clients have not read',
    'MAX_UNSENT_MIB_PER_KEY',
  )

  async function execute(request: OperationRequest): Promise<OperationAnswer> {
    const { operation, context, statements, idempotencyKey } = request
    const isOnce = operation.kind === 'mutation' && idempotencyKey !== undefined
    const executed = await onChosenServer(request, () =>
      meter.run(statements, async () =>
        isOnce
          ? services.turns.transactions.take(context.viewer.keyId, () =>
              executeOnce(request, idempotencyKey, idempotency),
            )
          : { result: await executeOperation(request), isReplay: false, isStored: false },
      ),
    )
    const { result, isReplay, isStored } = executed
    const codes = countErrors(result, context)
    return {
      result,
      length: lengthOf(result.data, operation.kind === 'mutation' ? Number.POSITIVE_INFINITY : maxAnswerLength),
      isStored,
      headers: {
        ...(isReplay && { 'idempotent-replayed': 'true' }),
        ...(codes.includes('SERVICE_UNAVAILABLE') && { 'retry-after': String(retryAfterSeconds) }),
      },
    }
  }

  /**
   * Counts a long answer until the client has received it.
   *
   * @throws GatewayError RATE_LIMITED, after a second, if clients of the key have too much to read
   */
  async function countUntilSent({ operation, context, onSent }: OperationRequest, length: number): Promise<void> {
    if (length < longAnswer) return
    const { viewer } = context
    const size = Math.ceil(length / mebibyte)
    // A mutation has had its effect, so its answer must say so.
    onSent(operation.kind === 'mutation' ? unsent.hold(viewer, size) : await unsent.take(viewer, size))
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
      // From the end of the write on, and before the client knows of it.
      await recentWrites.note(keyId)
    }
  }

  return {
    ...preparer,
    async prepareFor(viewer, text, operationName, isAbandoned) {
      const prepare = () => preparer.prepare(text, operationName)
      if (text === undefined || preparer.isPrepared(text, operationName)) return prepare()
      await rateLimit.spend(viewer, 0)
      const prepared = await services.turns.steps.take(viewer.keyId, prepare, isAbandoned)
      const points = prepared.errors ? Math.floor(text.length / charactersPerPoint) : 0
      if (points > 0) await rateLimit.charge(viewer, points)
      return prepared
    },
    execute,
    async run(request) {
      const { operation, context, statements } = request
      const { keyId } = context.viewer
      let admission = await admissions.admit(request)
      try {
        const release = await unsent.take(context.viewer, 0)
        release()
        const run = () => execute(request)
        const isAbandoned = () => statements.isAbandoned === true
        const isLong = admission.price >= longPrices[operation.kind]
        const answer = await (isLong ? services.turns.operations.take(keyId, run, isAbandoned) : run())
        const { result, length, isStored } = answer
        admission = await admissions.raise(request, admission, pointsOfLength(length) * (isStored ? storedFactor : 1))
        // A mutation has had its effect, so its answer must say so.
        if (operation.kind === 'query') requireAnswerLength(length)
        await countUntilSent(request, length)
        const { price, budget, headers } = admission
        const actual = operation.countNodes(result.data)
        const cost = { requested: price, actual, remaining: budget?.remaining ?? null }
        return { ...answer, result: { ...result, extensions: { cost } }, headers: { ...headers, ...answer.headers } }
      } catch (error) {
        throw error instanceof GatewayError ? withHeaders(error, admission.headers) : error
      }
    },
    subscribe: createSubscribe({ admissions, rateLimit, meter, unsent, maxPerKey: maxSubscriptionsPerKey }),
  }
}
