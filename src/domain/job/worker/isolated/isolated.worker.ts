import { parentPort, workerData } from 'node:worker_threads'
import { ownValue } from '@fusion-gateway/base'
import { readThrown } from '../outcome.ts'

// The thread of an isolated handler. It imports little, because each job starts it.

export interface IsolatedJob {
  /** The URL of the file that exports the handler. */
  readonly file: string
  readonly jobType: string
  readonly payload: unknown
  readonly attempt: number
}

/** What a thread says: its progress, and at the end the result as JSON or why there is none. */
export type ThreadMessage =
  | { readonly progress: number; readonly message: string | undefined }
  | { readonly result: string | undefined }
  | { readonly failure: Readonly<Record<string, unknown>> }

/** The longest result that any configuration accepts, in characters. */
const maxResultLength = 1024 * 1024

const progressMilliseconds = 20

const { file, jobType, payload, attempt } = workerData as IsolatedJob

function send(message: ThreadMessage): void {
  parentPort?.postMessage(message)
}

/** Sends progress, the newest only: a loop can report it a million times a second. */
function createReporter() {
  let next: ThreadMessage | undefined
  let timer: NodeJS.Timeout | undefined
  let sentAt = Number.NEGATIVE_INFINITY

  function flush(): void {
    if (next) send(next)
    clearTimeout(timer)
    sentAt = performance.now()
    next = undefined
    timer = undefined
  }

  function report(fraction: number, message?: unknown): void {
    const isText = typeof message === 'string' || typeof message === 'number'
    next = { progress: Number(fraction), message: isText ? String(message) : undefined }
    if (performance.now() - sentAt >= progressMilliseconds) flush()
    else timer ??= setTimeout(flush, progressMilliseconds)
  }
  return { report, flush }
}

function createSignal(): AbortSignal {
  const controller = new AbortController()
  parentPort?.on('message', ({ reason: { name, message, code } }: { reason: Record<string, unknown> }) => {
    controller.abort(Object.assign(new Error(String(message)), { name, code }))
  })
  return controller.signal
}

function toJson(result: unknown): string | undefined {
  if (result === undefined || result === null) return undefined
  try {
    // A function has no JSON.
    return JSON.stringify(result) ?? 'false'
  } catch {
    throw permanent('The result of the handler cannot be written as JSON')
  }
}

function permanent(message: string): Error {
  return Object.assign(new Error(message), { name: 'PermanentError' })
}

const reporter = createReporter()
try {
  const handler = ownValue(
    (await import(file)) as Record<string, (payload: unknown, context: object) => unknown>,
    jobType,
  )
  if (!handler) throw permanent(`The file of the handlers no longer exports ${jobType}`)
  const signal = createSignal()
  const result = toJson(await handler(payload, { signal, attempt, progress: reporter.report }))
  if (result !== undefined && result.length > maxResultLength) throw permanent('The result of the handler is too long')
  reporter.flush()
  send({ result })
} catch (error) {
  reporter.flush()
  send({ failure: cloneable(readThrown(error)) })
}

/** Without the values that cannot be sent to another thread, such as functions. */
function cloneable(properties: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).filter(([, value]) => ['string', 'number'].includes(typeof value)),
  )
}
