import { GatewayError, withHeaders } from '../../errors.ts'
import type { OperationLimits } from '../../limits/limits.ts'
import { type Admissions, pointsOfLength } from './admit.ts'
import type { OperationRequest, OperationResponse } from './execute.ts'
import type { ExecuteAdmitted } from './execute-admitted.ts'
import type { PreparedOperation } from './prepare/prepare.ts'
import { longResponse, mebibyte, requireResponseLength } from './response-length.ts'

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
export function createPipeline({ admissions, limits, execute }: PipelineOptions) {
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
