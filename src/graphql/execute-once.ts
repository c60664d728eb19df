import { type ExecutionResult, GraphQLError, getOperationAST, OperationTypeNode, type Source } from 'graphql'
import { type ErrorCode, errorCodes, type FieldError, GatewayError, isErrorCode } from '../errors.ts'
import type { Idempotency } from '../idempotency/idempotency.ts'
import { positionOf } from './caller-error.ts'
import { executeOperation, type Operation } from './execute.ts'

/** How a mutation is to be run once, however often it is asked. */
export interface OnceOnly {
  readonly idempotency: Idempotency
  readonly idempotencyKey: string
  /** What was asked, as text. */
  readonly request: string
  /** Told when the answer was given before. */
  readonly onReplay: () => void
}

/**
 * Executes an operation; a mutation that is to be run once not again, but with the answer of the first time. Its effects
 * and its answer are written together. What has failed on our side is undone, and may be asked again.
 *
 * @throws GatewayError IDEMPOTENCY_KEY_IN_USE, IDEMPOTENCY_KEY_REUSED
 */
export async function executeOnce(operation: Operation, once: OnceOnly | undefined): Promise<ExecutionResult> {
  if (!once || !isMutation(operation)) return executeOperation(operation)
  const { idempotency, idempotencyKey, request, onReplay } = once
  const { viewer, loaders } = operation.context
  const { answer, isReplay } = await idempotency.once(
    { viewer, idempotencyKey, request },
    () => {
      // What an earlier run has read was undone with it.
      loaders.clearAll()
      return executeOperation(operation)
    },
    isFinal,
  )
  if (!isReplay) return answer
  onReplay()
  const { source } = operation.document.loc ?? {}
  // Kept as JSON, and errors again from here on.
  return answer.errors ? { ...answer, errors: answer.errors.map((error) => revive(error, source)) } : answer
}

/** An error as it was before it was JSON. */
function revive({ message, path, locations, extensions }: KeptError, source: Source | undefined) {
  const { code, fields = [], ...details } = extensions as unknown as KeptExtensions
  const positions = source && locations?.map((location) => positionOf(source, location))
  return new GraphQLError(message, {
    ...{ source: source ?? null, positions: positions ?? null, path: path ?? null, extensions: extensions ?? {} },
    // One without a path is of the document or its variables, and not of ours.
    originalError: path ? new GatewayError(code, message, fields, { details }) : null,
  })
}

/** What caller-error.ts writes. */
interface KeptExtensions {
  readonly code: ErrorCode
  readonly fields?: readonly FieldError[]
}

type KeptError = Pick<GraphQLError, 'message' | 'path' | 'locations' | 'extensions'>

function isMutation({ document, operationName }: Operation): boolean {
  return getOperationAST(document, operationName)?.operation === OperationTypeNode.MUTATION
}

/** Whether asking again would be of no use: nothing failed on our side. */
function isFinal({ errors = [] }: ExecutionResult): boolean {
  return errors.every(({ extensions: { code } }) => isErrorCode(code) && errorCodes[code].status < 500)
}
