import type { z } from 'zod'
import { type FieldError, type FieldErrorCode, invalidInput } from '../errors.ts'

/**
 * Validates an input.
 *
 * @param prefix the path of the input in the request, if it is not the input itself: `filter`
 * @returns the output of the schema
 * @throws GatewayError BAD_USER_INPUT naming every invalid field
 */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  prefix?: string,
): z.output<Schema> {
  const { data, error } = schema.safeParse(input)
  if (error) throw invalidInput(error.issues.map((issue) => toFieldError(issue, prefix)))
  return data as z.output<Schema>
}

function toFieldError(issue: z.core.$ZodIssue, prefix?: string): FieldError {
  const path = prefix === undefined ? issue.path : [prefix, ...issue.path]
  return { field: path.map(String).join('.'), code: fieldErrorCodeOf(issue), message: issue.message }
}

/** The code of an issue that zod found. */
export function fieldErrorCodeOf(issue: z.core.$ZodIssue): FieldErrorCode {
  switch (issue.code) {
    case 'custom':
      return (issue.params as { code?: FieldErrorCode } | undefined)?.code ?? 'INVALID_FORMAT'
    case 'too_big':
      return issue.origin === 'array' || issue.origin === 'string' ? 'TOO_LONG' : 'OUT_OF_RANGE'
    case 'too_small':
      return issue.origin === 'array' || issue.origin === 'string' ? 'REQUIRED' : 'OUT_OF_RANGE'
    case 'invalid_format':
      return 'INVALID_FORMAT'
    default:
      return 'INVALID_TYPE'
  }
}
