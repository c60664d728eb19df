import type { Server } from 'node:http'
import { createClient, type Target } from '../old-service/send.ts'
import { createComparer } from './comparer.ts'
import { kindOf } from './contract.ts'
import type { Documents } from './operations.ts'
import { createProxy, type Served } from './proxy.ts'
import { createQueue } from './queue.ts'
import type { Recorder } from './recorder.ts'
import { replay } from './replay.ts'
import { createReport, type ReportOptions, type Summary } from './report.ts'
import { compareWithNew, type FullRequest } from './shadow.ts'

export interface ComparisonOptions extends ReportOptions {
  readonly old: Target
  readonly new: Target
  /** Whether the new service gets writes too. In a replay, both services do. */
  readonly sendsWrites: boolean
  /** Gets the requests that clients send through the proxy, writes too. */
  readonly recorder?: Pick<Recorder, 'add'> | undefined
}

export interface Comparison {
  /** The proxy of the old service, which compares what clients request. The caller lets it listen. */
  readonly server: Server
  /** Sends requests to both services. */
  replay(requests: AsyncIterable<FullRequest>, signal: AbortSignal): Promise<void>
  /**
   * Sends operations to two gateways.
   *
   * @param onLeftOut called with the name of each operation that cannot be sent, and why
   */
  operations(documents: Documents, signal: AbortSignal, onLeftOut: OnLeftOut): Promise<void>
  /** Ends the proxy, and waits some seconds for the comparisons under way. */
  end(): Promise<void>
  summary(): Summary
}

type OnLeftOut = (name: string, reason: string) => void

/** Requests that wait for the new service, while it is slow. Further ones are not compared. */
const limits = { concurrency: 16, maxWaiting: 1_000, maxBytes: 256 * 1024 * 1024 }

/** How long the requests under way may take when the comparison ends. */
const endMilliseconds = 5_000

/** Creates the comparison of two services. */
export function createComparison({ sendsWrites, recorder, ...options }: ComparisonOptions): Comparison {
  const report = createReport(options)
  const [old, other] = [createClient(options.old), createClient(options.new)]
  const queue = createQueue(limits)
  const comparer = createComparer()

  function onServed({ request, response, milliseconds }: Served): void {
    recorder?.add(request)
    const { route, isRead } = kindOf(request.method, request.target, request.body)
    if (!isRead && !sendsWrites) {
      report.skip('writes')
      return
    }
    const bytes = request.body.length + response.body.length
    const run = () => compareWithNew(other, { route, request, response, milliseconds }, { report, comparer })
    if (!queue.add({ isExclusive: !isRead, bytes, run })) report.skip('requests while too many others waited')
  }

  const server = createProxy({ old, onServed, onSkipped: report.skip })
  const send = (requests: AsyncIterable<FullRequest>, signal: AbortSignal) =>
    replay(requests, { old, new: other, report, comparer, sendsWrites, signal })

  return {
    server,
    replay: send,
    async operations(documents, signal, onLeftOut) {
      // Only here are the modules needed that read requests of GraphQL.
      const { readUsedOperations, requestsOfOperations } = await import('./operations.ts')
      const used = await readUsedOperations(old).catch(() => undefined)
      if (!used) onLeftOut('The usage of the old gateway', 'its order: the key needs the scope usage:read')
      const leaveOut: OnLeftOut = (name, reason) => {
        report.skip(reason)
        onLeftOut(name, reason)
      }
      await send(requestsOfOperations(documents, used ?? [], leaveOut), signal)
    },
    async end() {
      const timer = setTimeout(() => {
        server.closeAllConnections()
        for (let left = queue.clear(); left > 0; left -= 1) report.skip('requests that still waited at the end')
        old.close()
        other.close()
      }, endMilliseconds)
      if (server.listening) await new Promise((resolve) => server.close(resolve))
      await queue.untilEmpty()
      clearTimeout(timer)
      await comparer.close()
      old.close()
      other.close()
    },
    summary: report.summary,
  }
}
