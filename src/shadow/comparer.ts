import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { ReceivedResponse } from '../old-service/send.ts'
import { type Difference, NotComparable } from './compare.ts'
import { compareResponses } from './responses.ts'

export interface CompareTask {
  readonly route: string
  readonly old: ReceivedResponse
  readonly new: ReceivedResponse
}

/** A difference, and the number of places of one response that have it. */
export interface FoundDifference extends Difference {
  readonly values: number
}

/** What differs, or why nothing could be compared. */
export type Compared = { readonly found: readonly FoundDifference[] } | { readonly reason: string }

/** Longer bodies are compared by a thread: a proxy must not keep its clients waiting for that. */
const maxBytes = { plain: 64 * 1024, compressed: 4 * 1024 }

const isLong = ({ headers, body }: ReceivedResponse) =>
  body.length > (headers['content-encoding'] === undefined ? maxBytes.plain : maxBytes.compressed)

/** The most different places of one response that are told apart. */
const maxPlaces = 2_000

export type Comparer = ReturnType<typeof createComparer>

/** Creates what compares responses. Long ones are compared by a thread, one after the other. */
export function createComparer() {
  let thread: Worker | undefined
  let last: Promise<unknown> = Promise.resolve()

  async function compareApart(task: CompareTask): Promise<Compared> {
    thread ??= new Worker(new URL('./compare.worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: 1_024 },
    })
    thread.postMessage(task)
    try {
      const [compared] = (await once(thread, 'message')) as [Compared]
      return compared
    } catch {
      thread = undefined
      return { reason: 'responses that need too much memory' }
    }
  }

  return {
    compare(task: CompareTask): Promise<Compared> {
      const { route, old, new: other } = task
      if (!isLong(old) && !isLong(other)) return compareAll(route, old, other)
      const compared = last.then(() => compareApart(task))
      last = compared
      return compared
    },
    close: async () => void (await thread?.terminate()),
  }
}

/** Compares two responses, and counts the places of each kind. Never throws. */
export async function compareAll(route: string, old: ReceivedResponse, other: ReceivedResponse): Promise<Compared> {
  const found = new Map<string, FoundDifference>()
  try {
    await compareResponses(route, old, other, (difference) => {
      const key = `${difference.kind} ${difference.path}`
      const { values } = found.get(key) ?? { values: 0 }
      if (values > 0 || found.size < maxPlaces)
        found.set(key, { ...(found.get(key) ?? difference), values: values + 1 })
    })
    return { found: [...found.values()] }
  } catch (error) {
    if (error instanceof NotComparable) return { reason: error.message }
    return { reason: `an error: ${error instanceof Error ? error.message : error}` }
  }
}
