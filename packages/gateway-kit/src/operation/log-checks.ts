import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '@fusion-gateway/database'
import type { FairQueue, Payer } from '@fusion-gateway/limits'
import type { ChangeLog } from '../change-log.ts'
import type { OperationRequest } from './execute.ts'
import type { TenantMemory } from './tenant-memory.ts'

export interface LogChecksOptions {
  readonly database: Pick<Database, 'sql' | 'probe'>
  readonly changeLog: ChangeLog
  /** How long a request waits for a check of the log: 250 ms. */
  readonly waitMilliseconds?: number | undefined
  /** Runs the checks of the log, one of each tenant at a time. */
  readonly queue: FairQueue
}

/** How long requests do not wait for the log of a server that has failed. Their reads can use a replica meanwhile. */
const pauseMilliseconds = 5_000

/** Who waits for a check, and whose statements it is one of. */
interface CheckingRequest extends Pick<OperationRequest, 'statements'> {
  readonly context: { readonly viewer: Payer }
}

interface Failure {
  readonly at: number
  /** Whether one check tries whether the log can be read again. */
  isTried: boolean
}

/**
 * Creates the checks of the log of events, which say whether kept responses are still right. A request that cannot wait
 * for one reads its rows, as it would without memory. After a check that fails or takes too long, no request waits for
 * the log of the same server, whatever its tenant. After a pause one check tries again, while the others go on. A check
 * that was only late ends the pause.
 */
export function createLogChecks({ database, changeLog, queue, waitMilliseconds = 250 }: LogChecksOptions) {
  const { sql, probe } = database
  const failures = new Map<string, Failure>()

  async function run({ statements, context }: CheckingRequest, memory: TenantMemory): Promise<void> {
    const { tenantAppId } = context.viewer
    const { observe, requestId } = statements
    // Others wait for it too. It goes to the primary, whatever the request may read.
    const own = { statements: 0, tenantAppId, observe, ...(requestId !== undefined && { requestId }) }
    await nextTurn()
    await queue.run(context.viewer, async () => {
      memory.nextCheck = undefined
      try {
        // Statements of requests that wait for locks can have all connections.
        const sender = sql.nodes.length > 0 ? sql : probe
        const found = await changeLog.readChanges(sender.for(own, { isShared: true }), tenantAppId, memory.position)
        statements.statements += own.statements
        if (!found) return
        const isSame = found.server === memory.server
        memory.server = found.server
        memory.position = found.position
        if (!isSame || !found.changes) memory.forgetAll()
        else if (found.changes.length > 0) memory.apply(found.changes)
      } catch (error) {
        memory.position = undefined
        memory.server = undefined
        memory.forgetAll()
        throw error
      }
    })
  }

  /** @throws if the check fails, or has not ended in time; it goes on then */
  async function wait(server: string, check: Promise<void>): Promise<void> {
    const failure = failures.get(server)
    if (failure) failure.isTried = true
    check.then(
      () => failures.delete(server),
      () => undefined,
    )
    try {
      await within(check, waitMilliseconds)
    } catch (error) {
      failures.set(server, { at: performance.now(), isTried: false })
      throw error
    }
  }

  return {
    mayWait(server: string): boolean {
      const failure = failures.get(server)
      return !failure || (!failure.isTried && performance.now() - failure.at >= pauseMilliseconds)
    },
    /**
     * Reads from the log what has changed, and forgets the responses that it concerns. Requests wait for the first
     * check that is sent after they have arrived, so those of one turn of the event loop share one. One is sent after
     * the other has ended, so their snapshots are in the same order.
     *
     * @throws if the log cannot be read in time
     */
    check(request: CheckingRequest, memory: TenantMemory): Promise<void> {
      memory.nextCheck ??= wait(sql.nodeOf(request.context.viewer.tenantAppId), run(request, memory))
      return memory.nextCheck
    },
  }
}

function within(check: Promise<void>, milliseconds: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new Error('The log of events was not read in time'))
    // If this process itself was late, the result has arrived, and setImmediate runs after it is read.
    const timer = setTimeout(() => setImmediate(giveUp), milliseconds)
    check.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
