import type { ExecutionResult } from 'graphql'
import type { StatementCount } from '../../db/statement-meter.ts'
import type { Execution } from './execute.ts'
import type { IdempotencyKey } from './execute-once.ts'

/** An operation to run for a request. */
export interface OperationRequest extends Execution {
  /** The SQL statements of the request. */
  readonly statements: StatementCount
  /** The length of the request's body, in bytes. */
  readonly bodyLength: number
  /** Calls back when the client has received the response, or has gone. */
  onSent(done: () => void): void
  /** With a key, a mutation runs once however often it is sent. */
  readonly idempotencyKey?: IdempotencyKey | undefined
}

/** The result of an operation, and headers of the response. */
export interface OperationResponse {
  readonly result: ExecutionResult
  /** The approximate length of its data as JSON, in characters. */
  readonly length: number
  /** Whether it is stored now, for an idempotency key. */
  readonly isStored: boolean
  readonly headers: Readonly<Record<string, string>>
}
