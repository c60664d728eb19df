import { Worker } from 'node:worker_threads'
import { abortGraceMilliseconds } from '../grace.ts'
import type { JobContext, JobHandler } from '../handler.ts'
import { readThrown } from '../thrown.ts'
import type { IsolatedJob, ThreadMessage } from './isolated.worker.ts'

export interface IsolateOptions {
  /** The URL of the file that exports the handler. */
  readonly file: string
  readonly jobType: string
  /** How much memory the objects of a thread may take. */
  readonly maxMemoryMib: number
}

/**
 * Creates a handler that runs the one of a file, each job in a thread of its own. The handler can block its thread
 * while this process extends the lease of the job. When the signal aborts, the thread is told so, and is ended if the
 * handler has not stopped soon after. An error that nothing catches fails this job only.
 */
export function isolate({ file, jobType, maxMemoryMib }: IsolateOptions): JobHandler {
  return async (payload, context) => {
    const { attempt, signal } = context
    signal.throwIfAborted()
    const thread = new Worker(new URL('./isolated.worker.ts', import.meta.url), {
      workerData: { file, jobType, payload, attempt } satisfies IsolatedJob,
      resourceLimits: { maxOldGenerationSizeMb: maxMemoryMib },
    })
    const ended = new AbortController()
    signal.addEventListener('abort', () => thread.postMessage({ reason: readThrown(signal.reason) }), {
      signal: ended.signal,
    })
    try {
      return await answerOf(thread, context, maxMemoryMib)
    } finally {
      ended.abort()
      await thread.terminate()
    }
  }
}

/** Waits for the end of the handler, and passes its progress on. */
function answerOf(thread: Worker, { signal, progress }: JobContext, maxMemoryMib: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    thread.on('message', (message: ThreadMessage) => {
      if ('progress' in message) progress(message.progress, message.message)
      else if ('failure' in message) reject(errorOf(message.failure))
      else resolve(message.result === undefined ? null : JSON.parse(message.result))
    })
    thread.on('error', (error) => reject(isOutOfMemory(error) ? outOfMemory(maxMemoryMib) : error))
    thread.on('exit', (code) => reject(failed('THREAD_ENDED', `The thread of the handler ended with the code ${code}`)))
    signal.addEventListener('abort', () => setTimeout(() => reject(signal.reason), abortGraceMilliseconds))
  })
}

function errorOf({ name, message, code, retryAfterSeconds }: Readonly<Record<string, unknown>>): Error {
  return Object.assign(new Error(String(message ?? '')), { name, code, retryAfterSeconds })
}

function isOutOfMemory(error: unknown): boolean {
  return Object(error).code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function outOfMemory(maxMemoryMib: number): Error {
  return failed('OUT_OF_MEMORY', `The handler took more than ${maxMemoryMib} MiB of memory`)
}

function failed(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
