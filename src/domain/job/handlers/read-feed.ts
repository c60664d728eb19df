import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { PermanentError } from '../worker/handler.ts'
import type { FeedIds } from './parse-feed.worker.ts'

/** The limits of parsing a feed. A malicious text can take very long to parse. */
const timeoutMilliseconds = 10_000
const maxMemoryMib = 256

/**
 * Reads the ids of a feed in a separate thread, because parsing 5 MiB takes seconds.
 *
 * @param signal ends the thread when it aborts
 * @throws PermanentError if the text is not a feed, or takes too much time or memory to parse
 */
export async function readFeed(text: string, signal: AbortSignal): Promise<FeedIds> {
  const timeout = AbortSignal.timeout(timeoutMilliseconds)
  const worker = new Worker(new URL('./parse-feed.worker.ts', import.meta.url), {
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: maxMemoryMib },
  })
  try {
    const [ids] = await once(worker, 'message', { signal: AbortSignal.any([signal, timeout]) })
    return ids as FeedIds
  } catch (error) {
    signal.throwIfAborted()
    throw new PermanentError(messageOf(error, timeout), { cause: error })
  } finally {
    await worker.terminate()
  }
}

function messageOf(error: unknown, { aborted }: AbortSignal): string {
  if (aborted) return `Parsing the feed takes more than ${timeoutMilliseconds / 1_000} s`
  const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  if (isTooLarge) return `Parsing the feed takes more than ${maxMemoryMib} MiB`
  return 'The URL did not answer with an RSS, Atom or JSON feed'
}
