import type { ExecutionResult } from 'graphql'
import { GatewayError, invalidInput } from '../engine/errors.ts'
import { parameterOf, restNameOf } from './check-variables.ts'
import type { Route } from './route.ts'

type Data = Readonly<Record<string, unknown>>

/**
 * The data of a route's operation. REST has no partial responses: any error is the response.
 *
 * @throws GatewayError the operation's first error, with the names of fields in REST
 */
export function dataOf(route: Route, { data, errors }: ExecutionResult): Data {
  const [error] = errors ?? []
  if (error) throw error.originalError instanceof GatewayError ? renamed(route, error.originalError) : invalid(error)
  rejectUserErrors(route, data ?? {})
  return data ?? {}
}

interface UserErrors {
  readonly userErrors?: readonly { code: never; message: string; field: readonly string[] | null }[]
}

/** The `userErrors` of a mutation are 422 in REST. An id that comes from the path and that no row has is 404. */
function rejectUserErrors(route: Route, data: Data): void {
  const userErrors = Object.values(data).flatMap((payload) => (payload as UserErrors | null)?.userErrors ?? [])
  if (userErrors.length === 0) return
  const fields = userErrors.map(({ code, message, field }) => ({
    code,
    message,
    field: ['input', ...(field ?? [])].join('.'),
  }))
  if (fields.some(({ code, field }) => code === 'NOT_FOUND' && parameterOf(route, field)?.in === 'path')) {
    throw notFound()
  }
  throw renamed(route, invalidInput(fields))
}

function renamed(route: Route, error: GatewayError): GatewayError {
  if (error.fields.length === 0) return error
  return invalidInput(error.fields.map((field) => ({ ...field, field: restNameOf(route, field.field) })))
}

function invalid({ message }: { message: string }): GatewayError {
  return new GatewayError('BAD_USER_INPUT', message)
}

/** The error for missing ids and ids of other tenants. */
export function notFound(): GatewayError {
  return new GatewayError('NOT_FOUND', 'There is nothing with this id.')
}
