import type { Viewer } from '../../auth/viewer.ts'
import type { Services } from '../../context.ts'
import type { StatementMeter } from '../../db/statement-meter.ts'
import type { OperationLimits } from '../../limits/limits.ts'
import type { RecentWrites } from '../../limits/recent-writes.ts'
import type { Client } from '../../telemetry/usage/client.ts'
import { createAdmissions } from './admit.ts'
import type { OperationRequest, OperationResponse } from './execute.ts'
import { createExecuteAdmitted, type ExecuteAdmitted } from './execute-admitted.ts'
import { createPipeline } from './pipeline.ts'
import { createPreparer, type Preparation, type Preparer } from './prepare/prepare.ts'
import type { Schemas } from './prepare/schemas.ts'
import { createUsageRecorder } from './record-usage.ts'
import { createSubscribe, type Subscribe } from './subscribe.ts'

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
