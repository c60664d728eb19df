import { once } from 'node:events'
import { setInterval } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { PermanentError } from '../../worker/handler.ts'
import type { FeedAnswer, FeedBytes } from './feed.worker.ts'
import type { FeedIds } from './feed-item.ts'

/** The limits of parsing a feed. A malicious text can take very long to parse. */
export interface ParseLimits {
  /** CPU time, so a busy machine changes nothing. */
  readonly cpuSeconds: number
  readonly memoryMib: number
}

const defaultLimits: ParseLimits = { cpuSeconds: 10, memoryMib: 256 }

/** How often the CPU time of a thread is read, in milliseconds: often enough for the limit. */
const checkMillisecondsFor = (cpuSeconds: number) => Math.min(250, cpuSeconds * 250)

/**
 * Reads the ids of a feed in a separate thread, because parsing 5 MiB takes seconds.
 *
 * @param signal ends the thread when it aborts
 * @throws PermanentError if the text is not a feed, or takes too much time or memory to parse
 */
export async function readFeed(feed: FeedBytes, signal: AbortSignal, limits = defaultLimits): Promise<FeedIds> {
  const worker = new Worker(new URL('./feed.worker.ts', import.meta.url), {
    workerData: feed,
    resourceLimits: { maxOldGenerationSizeMb: limits.memoryMib },
  })
  const ended = new AbortController()
  try {
    const answer = await Promise.race([
      once(worker, 'message', { signal }).then(([message]) => message as FeedAnswer),
      exceedCpu(worker, limits.cpuSeconds, ended.signal),
    ])
    if (!('problem' in answer)) return answer
    throw new PermanentError(answer.problem)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof PermanentError) throw error
    throw new PermanentError(messageOf(error, limits), { cause: error })
  } finally {
    ended.abort()
    await worker.terminate()
  }
}

/** Returns when the thread has used more CPU time than it may. Rejects when `ended` aborts. */
async function exceedCpu(worker: Worker, seconds: number, ended: AbortSignal): Promise<FeedAnswer> {
  for await (const _ of setInterval(checkMillisecondsFor(seconds), undefined, { signal: ended })) {
    // A thread that has just ended has no usage. Its own event says why it ended.
    const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }))
    if (user + system > seconds * 1_000_000) break
  }
  return { problem: `Parsing the feed takes more than ${seconds} s of CPU time` }
}

function messageOf(error: unknown, { memoryMib }: ParseLimits): string {
  const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  return isTooLarge
    ? `Parsing the feed takes more than ${memoryMib} MiB`
    : 'The URL did not answer with an RSS, Atom or JSON feed'
}
