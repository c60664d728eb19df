import type { Context } from '../../context.ts'
import { GatewayError } from '../../errors.ts'
import type { Client } from '../../telemetry/usage/client.ts'
import { type Caller, invalidOperation, type UsageCounts } from '../../telemetry/usage/usage-counts.ts'
import type { PreparedOperation } from './prepare/prepare.ts'

interface RecordedRequest {
  readonly operation: PreparedOperation
  readonly context: Pick<Context, 'viewer' | 'client'>
}

export type UsageRecorder = ReturnType<typeof createUsageRecorder>

/** Returns the recorder of the operations of both APIs: who requested what, how long it took, and whether it failed. */
export function createUsageRecorder(counts: UsageCounts, requiresClientName: boolean) {
  const callerOf = ({ operation, context: { viewer, client } }: RecordedRequest): Caller => ({
    viewer,
    client,
    operation: operation.counted,
  })

  return {
    /**
     * Counts a request when its work has ended.
     *
     * @param hasErrors whether the result of the work has errors
     * @throws GatewayError MALFORMED_REQUEST if the client must name itself, and does not
     */
    async record<Result>(
      request: RecordedRequest,
      work: () => Promise<Result>,
      hasErrors: (result: Result) => boolean,
    ): Promise<Result> {
      if (requiresClientName && request.context.client?.name === undefined) throw clientNameRequired()
      const startedAt = performance.now()
      let hasFailed = true
      try {
        const result = await work()
        hasFailed = hasErrors(result)
        return result
      } finally {
        counts.count(callerOf(request), performance.now() - startedAt, hasFailed)
      }
    },

    /** Counts a request whose document is not valid. */
    recordInvalid(viewer: Context['viewer'], client: Client | undefined, milliseconds: number): void {
      counts.count({ viewer, client, operation: invalidOperation }, milliseconds, true)
    },

    addPoints(request: RecordedRequest, points: number): void {
      counts.addPoints(callerOf(request), points)
    },
  }
}

function clientNameRequired(): GatewayError {
  const message = 'This gateway requires clients to name themselves: send the header graphql-client-name.'
  return new GatewayError('MALFORMED_REQUEST', message)
}
