import type { Services } from '../../context.ts'
import type { StatementMeter } from '../../db/statement-meter.ts'
import { retryAfterSeconds } from '../../errors.ts'
import type { RecentWrites } from '../../limits/recent-writes.ts'
import { countErrors, executeOperation, type OperationRequest, type OperationResponse } from './execute.ts'
import { executeOnce } from './execute-once.ts'
import { lengthOf, maxResponseLength } from './response-length.ts'

export type ExecuteAdmitted = (request: OperationRequest) => Promise<OperationResponse>

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
export function createExecuteAdmitted({ services, meter, recentWrites }: ExecuteOptions): ExecuteAdmitted {
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
