import type { Context } from '../context.ts'
import { GatewayError, invalidInput } from '../errors.ts'
import { executeOnce, type OnceOnly } from '../graphql/execute-once.ts'
import { fieldName } from './check-variables.ts'
import type { CompiledOperation } from './operation.ts'
import type { Route } from './route.ts'

type Data = Readonly<Record<string, unknown>>

/**
 * Runs a route's operation on the engine that /graphql runs on.
 *
 * @returns the operation's data, complete: REST has no half answers
 * @param once when a mutation is to be run once
 * @throws GatewayError whatever the operation was refused for, its fields named as the REST client wrote them
 */
export async function runOperation(
  route: Route,
  { document }: CompiledOperation,
  variables: Data,
  context: Context,
  once?: OnceOnly,
): Promise<Data> {
  const { data, errors } = await executeOnce({ document, variables, context }, once)
  const [error] = errors ?? []
  if (error) throw error.originalError instanceof GatewayError ? renamed(route, error.originalError) : invalid(error)
  refuseUserErrors(route, data ?? {})
  return data ?? {}
}

interface UserErrors {
  readonly userErrors?: readonly { code: never; message: string; field: readonly string[] | null }[]
}

/** A mutation's user errors: REST says them by status. The `id` comes from the path, so not finding it is a 404. */
function refuseUserErrors(route: Route, data: Data): void {
  const userErrors = Object.values(data).flatMap((payload) => (payload as UserErrors | null)?.userErrors ?? [])
  if (userErrors.length === 0) return
  const fields = userErrors.map(({ code, message, field }) => ({ code, message, field: (field ?? []).join('.') }))
  if (fields.some(({ code, field }) => code === 'NOT_FOUND' && field === 'id')) throw notFound()
  throw renamed(route, invalidInput(fields))
}

function renamed(route: Route, error: GatewayError): GatewayError {
  if (error.fields.length === 0) return error
  return invalidInput(error.fields.map((field) => ({ ...field, field: fieldName(route, field.field) })))
}

function invalid({ message }: { message: string }): GatewayError {
  return new GatewayError('BAD_USER_INPUT', message)
}

/** The same words for an id that nobody has and for another tenant's. */
export function notFound(): GatewayError {
  return new GatewayError('NOT_FOUND', 'There is nothing with this id.')
}
