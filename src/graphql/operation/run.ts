import type { Services } from '../../context.ts'
import type { StatementMeter } from '../../db/statement-meter.ts'
import { GatewayError, retryAfterSeconds, withHeaders } from '../../errors.ts'
import type { RateLimit } from '../../limits/rate-limit.ts'
import type { RecentWrites } from '../../limits/recent-writes.ts'
import { createAdmission } from './admit.ts'
import { requireAnswerLength } from './answer-length.ts'
import { countErrors, executeOperation } from './execute.ts'
import { executeOnce } from './execute-once.ts'
import type { OperationAnswer, OperationRequest } from './operation-request.ts'
import { createPreparer, type Preparer } from './prepare/prepare.ts'
import { createSubscribe, type Subscribe } from './subscribe.ts'

/**
 * Runs the operations of both APIs: prepares them, takes their price, chooses the server for their reads, executes mutations
 * once per idempotency key, and reports cost and retries.
 */
export interface Operations extends Preparer {
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

/** Operations from this price on take turns. An operation of 5,000 nodes takes tens of milliseconds of the event loop. */
const longPrice = 5_000

export interface OperationsOptions {
  readonly services: Services
  readonly meter: StatementMeter
  readonly rateLimit: RateLimit
  /** The keys that have written recently; undefined if there are no replicas. */
  readonly recentWrites?: RecentWrites | undefined
  /** Whether the schema may be introspected. */
  readonly introspection: boolean
  /** The maximum number of subscriptions of one key at a time. */
  readonly maxSubscriptionsPerKey?: number
}

/** Creates what runs operations. */
export function createOperations({
  services,
  meter,
  rateLimit,
  recentWrites,
  introspection,
  maxSubscriptionsPerKey = 100,
}: OperationsOptions): Operations {
  const { idempotency, metrics } = services
  const preparer = createPreparer({ introspection, metrics })
  const admit = createAdmission(rateLimit)

  async function execute(request: OperationRequest): Promise<OperationAnswer> {
    const { operation, context, statements, idempotencyKey } = request
    const isOnce = operation.kind === 'mutation' && idempotencyKey !== undefined
    const executed = await onChosenServer(request, () =>
      meter.run(statements, async () =>
        isOnce
          ? executeOnce(request, idempotencyKey, idempotency)
          : { result: await executeOperation(request), isReplay: false },
      ),
    )
    const { result, isReplay } = executed
    const codes = countErrors(result, context)
    return {
      result,
      headers: {
        ...(isReplay && { 'idempotent-replayed': 'true' }),
        ...(codes.includes('SERVICE_UNAVAILABLE') && { 'retry-after': String(retryAfterSeconds) }),
      },
    }
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
    execute,
    async run(request) {
      const { operation, variables, context } = request
      const { price, budget, headers } = await admit(context.viewer, operation, variables)
      const run = () => execute(request)
      const executed = price < longPrice ? run() : services.turns.operations.take(context.viewer.keyId, run)
      // A mutation has had its effect, so its answer must say so.
      const checked = operation.kind === 'query' ? executed.then(withShortAnswer) : executed
      const answer = await checked.catch((error: unknown) => {
        throw error instanceof GatewayError ? withHeaders(error, headers) : error
      })
      const actual = operation.countNodes(answer.result.data)
      const cost = { requested: price, actual, remaining: budget?.remaining ?? null }
      return { result: { ...answer.result, extensions: { cost } }, headers: { ...headers, ...answer.headers } }
    },
    subscribe: createSubscribe({ admit, rateLimit, meter, maxPerKey: maxSubscriptionsPerKey }),
  }
}

/** @throws GatewayError TOO_EXPENSIVE */
function withShortAnswer(answer: OperationAnswer): OperationAnswer {
  requireAnswerLength(answer.result.data)
  return answer
}
