import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { OperatorError, ownValue, recordOf } from '@fusion-gateway/base'
import { integer } from '@fusion-gateway/input'
import { z } from 'zod'
import { jobType } from '../job.input.ts'
import { abortGraceMilliseconds, type HandlerOptions, type JobContext, type JobHandler } from './handler.ts'
import type { IsolatedJob, ThreadMessage } from './isolated/isolated.worker.ts'
import { codedError, readThrown } from './outcome.ts'

/**
 * Loads a file of handlers. Each function that it exports handles the jobs of the type it is named after. The file can
 * also export `HandlerOptions`.
 *
 * @param file JavaScript or TypeScript, relative to the working directory
 * @throws OperatorError if the file cannot be loaded, exports no handler, or has an option that is not valid
 */
export async function loadHandlers(file: string): Promise<Map<string, JobHandler>> {
  const url = pathToFileURL(path.resolve(file)).href
  const exported = await importFile(file, url)
  const handlers = new Map(
    Object.entries(exported).filter((entry): entry is [string, JobHandler] => {
      const [name, value] = entry
      return isFunction(value) && name !== 'default' && jobType.safeParse(name).success
    }),
  )
  if (handlers.size === 0) {
    throw new OperatorError(`${file} exports no handler: a function named after the type of job that it handles.`)
  }
  const limitsOf = readHandlerOptions(file, exported, [...handlers.keys()])
  return new Map([...handlers].map(([type, handler]) => [type, withLimits(handler, url, type, limitsOf(type))]))
}

function withLimits(handler: JobHandler, file: string, jobType: string, limits: HandlerLimits): JobHandler {
  const { isIsolated, maxSeconds, maxMemoryMib } = limits
  const run = isIsolated ? isolate({ file, jobType, maxMemoryMib }) : handler
  return maxSeconds === undefined ? run : limitTime(run, maxSeconds)
}

/** Whether the value is a function and not a class: a file may export its own error class. */
function isFunction(value: unknown): boolean {
  return typeof value === 'function' && !/^class\b/.test(String(value))
}

async function importFile(file: string, url: string): Promise<Record<string, unknown>> {
  try {
    return (await import(url)) as Record<string, unknown>
  } catch (error) {
    throw new OperatorError(`${file} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const maxSeconds = 7 * 24 * 60 * 60

const defaultIsolatedSeconds = 60 * 60

const defaultMemoryMib = 512

const forAllOrByType = <Value extends z.ZodType>(value: Value, message: string) =>
  z.union([value, z.record(z.string(), value)], `must be ${message}, or an object with such values by type`)

const optionsRule = z.object({
  isolated: forAllOrByType(z.boolean(), 'true or false').optional(),
  maxSeconds: forAllOrByType(integer(1, maxSeconds), `a whole number from 1 to ${maxSeconds}`).optional(),
  maxMemoryMib: forAllOrByType(integer(16, 65_536), 'a whole number from 16 to 65536').optional(),
})

interface HandlerLimits {
  readonly isIsolated: boolean
  readonly maxSeconds: number | undefined
  readonly maxMemoryMib: number
}

/**
 * @param jobTypes the types of its handlers. A handler can have the name of an option
 * @returns the limits of a type
 * @throws OperatorError if an option has another value, or names a type without a handler
 */
function readHandlerOptions(
  file: string,
  exported: Readonly<Record<string, unknown>>,
  jobTypes: readonly string[],
): (jobType: string) => HandlerLimits {
  const isOption = (name: string) => Object.hasOwn(optionsRule.shape, name) && !jobTypes.includes(name)
  const exportedOptions = recordOf(Object.entries(exported).filter(([name]) => isOption(name)))
  const { data, error } = optionsRule.safeParse(exportedOptions)
  if (error) throw new OperatorError(`${file}: ${String(error.issues[0]?.path[0])} ${error.issues[0]?.message}.`)
  for (const [name, value] of Object.entries(data)) {
    const unknown = Object.keys(Object(value)).find((type) => !jobTypes.includes(type))
    if (unknown !== undefined)
      throw new OperatorError(`${file}: ${name} names ${unknown}, which is no handler of the file.`)
  }
  const options = data as HandlerOptions
  return (jobType) => {
    const isIsolated = ofType(options.isolated, jobType) ?? false
    return {
      isIsolated,
      maxSeconds: ofType(options.maxSeconds, jobType) ?? (isIsolated ? defaultIsolatedSeconds : undefined),
      maxMemoryMib: ofType(options.maxMemoryMib, jobType) ?? defaultMemoryMib,
    }
  }
}

function ofType<Value>(
  option: Value | Readonly<Record<string, Value>> | undefined,
  jobType: string,
): Value | undefined {
  if (typeof option !== 'object' || option === null) return option as Value | undefined
  return ownValue(option as Readonly<Record<string, Value>>, jobType)
}

/**
 * Limits how long a handler may run. Then its signal aborts, and the attempt fails with TIMEOUT if the handler does not
 * return soon. The code of a handler that ignores the signal runs on, unless the handler is isolated.
 */
function limitTime(handler: JobHandler, maxSeconds: number): JobHandler {
  return async (payload, context) => {
    const controller = new AbortController()
    const signal = AbortSignal.any([context.signal, controller.signal])
    const abandoned = Promise.withResolvers<never>()
    const timeout = codedError('TIMEOUT', `The handler ran longer than ${maxSeconds} s`)
    const timer = setTimeout(() => {
      controller.abort(timeout)
      setTimeout(() => abandoned.reject(timeout), abortGraceMilliseconds)
    }, maxSeconds * 1_000)
    try {
      return await Promise.race([handler(payload, { ...context, signal }), abandoned.promise])
    } catch (error) {
      throw controller.signal.aborted ? timeout : error
    } finally {
      clearTimeout(timer)
    }
  }
}

interface IsolateOptions {
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
function isolate({ file, jobType, maxMemoryMib }: IsolateOptions): JobHandler {
  return async (payload, context) => {
    const { attempt, signal } = context
    signal.throwIfAborted()
    const thread = new Worker(new URL('./isolated/isolated.worker.ts', import.meta.url), {
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
    thread.on('error', (error) => {
      const isTooLarge = Object(error).code === 'ERR_WORKER_OUT_OF_MEMORY'
      reject(
        isTooLarge ? codedError('OUT_OF_MEMORY', `The handler took more than ${maxMemoryMib} MiB of memory`) : error,
      )
    })
    thread.on('exit', (code) =>
      reject(codedError('THREAD_ENDED', `The thread of the handler ended with the code ${code}`)),
    )
    signal.addEventListener('abort', () => setTimeout(() => reject(signal.reason), abortGraceMilliseconds))
  })
}

function errorOf({ name, message, code, retryAfterSeconds }: Readonly<Record<string, unknown>>): Error {
  return Object.assign(new Error(String(message ?? '')), { name, code, retryAfterSeconds })
}
