import { type ExecutionResult, GraphQLError, type Source } from 'graphql'
import { type ErrorCode, errorCodes, type FieldError, GatewayError, isErrorCode } from '../../errors.ts'
import type { Idempotency } from '../../idempotency/idempotency.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { positionOf } from './client-error.ts'
import { type Execution, executeOperation, type IdempotencyKey } from './execute.ts'

/**
 * Executes a mutation once per idempotency key. Its effects and its result are stored in one transaction. If the
 * gateway fails, the effects are rolled back, and the client may send the request again.
 *
 * @throws GatewayError IDEMPOTENCY_KEY_IN_USE, IDEMPOTENCY_KEY_REUSED; MALFORMED_REQUEST if the response has secrets,
 *   which are not stored
 */
export async function executeOnce(
  execution: Execution,
  { key, request }: IdempotencyKey,
  idempotency: Idempotency,
): Promise<{ readonly result: ExecutionResult; readonly isReplay: boolean; readonly isStored: boolean }> {
  const { context, operation } = execution
  const { viewer, loaders } = context
  if (operation.showsSecrets) {
    const message = 'The response has a secret, which is not stored. Send this operation without an idempotency key.'
    throw new GatewayError('MALFORMED_REQUEST', message)
  }
  let lines: (() => void)[] = []
  // Only the last run is logged: the client does not see runs that were repeated because of a conflict.
  const log: Logger = {
    error: (...line) => void lines.push(() => context.log.error(...line)),
    warn: (...line) => void lines.push(() => context.log.warn(...line)),
  }
  const { response, isReplay } = await idempotency.runOnce(
    { viewer, idempotencyKey: key, request },
    () => {
      lines = []
      // An earlier run has read rows that its rollback has undone.
      loaders.clearAll()
      return executeOperation({ ...execution, context: { ...context, log } })
    },
    isFinal,
  )
  for (const write of lines) write()
  const isStored = !isReplay && isFinal(response)
  if (!isReplay || !response.errors) return { result: response, isReplay, isStored }
  const { source } = operation.document.loc ?? {}
  return {
    result: { ...response, errors: response.errors.map((error) => restoreError(error, source)) },
    isReplay,
    isStored,
  }
}

/** Whether sending the request again would change nothing: it did not fail on the side of the gateway. */
function isFinal({ errors = [] }: ExecutionResult): boolean {
  return errors.every(({ extensions: { code } }) => isErrorCode(code) && errorCodes[code].status < 500)
}

type StoredError = Pick<GraphQLError, 'message' | 'path' | 'locations' | 'extensions'>

/** The extensions that client-error.ts writes. */
interface StoredExtensions {
  readonly code: ErrorCode
  readonly fields?: readonly FieldError[]
}

function restoreError({ message, path, locations, extensions }: StoredError, source: Source | undefined) {
  const { code, fields = [], ...details } = extensions as unknown as StoredExtensions
  const positions = source && locations?.map((location) => positionOf(source, location))
  return new GraphQLError(message, {
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    extensions: extensions ?? {},
    // An error without a path is about the document or its variables, and no resolver threw it.
    originalError: path ? new GatewayError(code, message, { fields, details }) : null,
  })
}
