import { z } from 'zod'
import { OperatorError } from '../../../engine/errors.ts'
import { integer } from '../../../engine/input/rules.ts'
import { own, recordOf } from '../../../engine/own.ts'
import type { HandlerOptions } from './handler.ts'

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

/** How the jobs of one type are run. */
export interface HandlerLimits {
  readonly isIsolated: boolean
  readonly maxSeconds: number | undefined
  readonly maxMemoryMib: number
}

/**
 * Reads the options that a file of handlers exports.
 *
 * @param jobTypes the types of its handlers. A handler can have the name of an option
 * @returns the limits of a type
 * @throws OperatorError if an option has another value, or names a type without a handler
 */
export function readHandlerOptions(
  file: string,
  exported: Readonly<Record<string, unknown>>,
  jobTypes: readonly string[],
): (jobType: string) => HandlerLimits {
  const isOption = (name: string) => Object.hasOwn(optionsRule.shape, name) && !jobTypes.includes(name)
  const given = recordOf(Object.entries(exported).filter(([name]) => isOption(name)))
  const { data, error } = optionsRule.safeParse(given)
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
  return own(option as Readonly<Record<string, Value>>, jobType)
}
