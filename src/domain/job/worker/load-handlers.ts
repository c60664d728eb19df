import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { OperatorError } from '../../../engine/errors.ts'
import { jobType } from '../job.input.ts'
import type { JobHandler } from './handler.ts'
import { type HandlerLimits, readHandlerOptions } from './handler-options.ts'
import { isolate } from './isolated/isolate.ts'
import { limitTime } from './limit-time.ts'

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
  return typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value))
}

async function importFile(file: string, url: string): Promise<Record<string, unknown>> {
  try {
    return (await import(url)) as Record<string, unknown>
  } catch (error) {
    throw new OperatorError(`${file} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`)
  }
}
