import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { OperatorError } from '../../../engine/errors.ts'
import { jobType } from '../job.input.ts'
import type { JobHandler } from './handler.ts'

/**
 * Loads a file of handlers. Each function that it exports handles the jobs of the type it is named after.
 *
 * @param file JavaScript or TypeScript, relative to the working directory
 * @throws OperatorError if the file cannot be loaded or exports no handler
 */
export async function loadHandlers(file: string): Promise<Map<string, JobHandler>> {
  const exported = await importFile(file)
  const handlers = new Map(
    Object.entries(exported).filter((entry): entry is [string, JobHandler] => {
      const [name, value] = entry
      return isFunction(value) && name !== 'default' && jobType.safeParse(name).success
    }),
  )
  if (handlers.size === 0) {
    throw new OperatorError(`${file} exports no handler: a function named after the type of job that it handles.`)
  }
  return handlers
}

/** Whether the value is a function and not a class: a file may export its own error class. */
function isFunction(value: unknown): boolean {
  return typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value))
}

async function importFile(file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path.resolve(file)).href)) as Record<string, unknown>
  } catch (error) {
    throw new OperatorError(`${file} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`)
  }
}
