import { setTimeout as sleep } from 'node:timers/promises'
import { readRetryAfter } from '@fusion-gateway/network'
import type { ReceivedResponse } from '../old-service/send.ts'
import { type Client, exchange, reasonOf } from '../old-service/send.ts'
import { kindOf } from './contract.ts'
import { createQueue } from './queue.ts'
import { type FullRequest, ofOldService, type Reporter, reportComparison } from './shadow.ts'

export interface ReplayOptions extends Reporter {
  readonly old: Client
  readonly new: Client
  readonly sendsWrites: boolean
  /** Ends the replay when the requests under way have ended. */
  readonly signal: AbortSignal
}

/** How many requests each service gets at the same time. */
const concurrency = 4

/** How long a service may take for one request. */
const milliseconds = 60_000

/** Sends requests to both services, in their order, and reports how the responses differ. */
export async function replay(
  requests: AsyncIterable<FullRequest>,
  { old, new: other, sendsWrites, signal, ...reporter }: ReplayOptions,
): Promise<void> {
  const queue = createQueue({ concurrency, maxWaiting: concurrency, maxBytes: Number.POSITIVE_INFINITY })
  for await (const request of requests) {
    if (signal.aborted) break
    const { route, isRead } = kindOf(request.method, request.target, request.body)
    if (!isRead && !sendsWrites) {
      reporter.report.skip('writes')
      continue
    }
    await queue.untilRoom()
    const run = async () => {
      const [sent, otherSent] = await Promise.all([send(old, request, signal), send(other, request, signal)])
      if ('failure' in sent) reporter.report.skip(`the old service failed: ${sent.failure}`)
      else await reportComparison({ route, request, ...sent }, otherSent, reporter)
    }
    queue.add({ isExclusive: !isRead, bytes: 0, run })
  }
  await queue.untilEmpty()
}

interface Sent {
  readonly response: ReceivedResponse
  readonly milliseconds: number
}

/** How often a service that says when it has room again is asked again, and how long at most. */
const maxRepetitions = 3
const maxWaitSeconds = 60

/** Sends a request. A replay is faster than clients are, so it waits where a service asks for that. */
async function send(client: Client, request: FullRequest, signal: AbortSignal): Promise<Sent | { failure: string }> {
  for (let repetition = 0; ; repetition += 1) {
    const started = performance.now()
    try {
      const response = await exchange(client, request, request.body, { without: ofOldService, milliseconds })
      const seconds = readRetryAfter(response.headers['retry-after'])
      const asksToWait = response.status === 429 || response.status === 503
      if (!asksToWait || seconds === undefined || repetition === maxRepetitions || signal.aborted) {
        return { response, milliseconds: performance.now() - started }
      }
      await sleep(Math.min(seconds, maxWaitSeconds) * 1_000, undefined, { signal }).catch(() => undefined)
    } catch (error) {
      return { failure: reasonOf(error) }
    }
  }
}
