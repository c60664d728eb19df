import {
  ConnectError,
  causeOf,
  isDatabaseUnavailable,
  isPermissionDenied,
  isServerLost,
  isUnknownObject,
} from '@fusion-gateway/sql'
import { isDriverAdapterError } from '@prisma/driver-adapter-utils'

/** The message for an operator about an error that is not an OperatorError. A stack is part of it only for defects. */
export function explain(error: unknown): string {
  if (isServerLost(error)) return `The database cannot be reached: ${reasonOf(error)}`
  if (isPermissionDenied(error)) {
    return `The database refused: ${reasonOf(error)}. See what a role needs with: npm run fusion -- migrate deploy --grants ROLE`
  }
  if (isUnknownObject(error)) {
    return `The database is not one of this version: ${reasonOf(error)}. See: npm run fusion -- migrate status`
  }
  if (isDatabaseUnavailable(error) || isDriverAdapterError(error)) return `The database refused: ${reasonOf(error)}`
  // Errors of the system name the call and its arguments: "listen EACCES: permission denied".
  if (error instanceof Error && 'syscall' in error) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** What the database says: the message of the innermost cause, or of the connection that could not be made. */
function reasonOf(error: unknown): string {
  let reason = ''
  for (let cause = error; cause instanceof Object; cause = causeOf(cause)) {
    const { originalMessage, message } = cause as { readonly originalMessage?: string; readonly message?: string }
    reason = originalMessage || message || reason
    if (cause instanceof ConnectError) break
  }
  return reason
}
