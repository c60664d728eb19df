import type { ExecutionResult } from 'graphql'
import type { StatementCount } from '../../db/statement-meter.ts'
import type { Execution } from './execute.ts'
import type { IdempotencyKey } from './execute-once.ts'

/** An operation to run for a request. */
export interface OperationRequest extends Execution {
  /** The SQL statements of the request. */
  readonly statements: StatementCount
  /** With a key, a mutation runs once however often it is sent. */
  readonly idempotencyKey?: IdempotencyKey | undefined
}

/** The result of an operation, and headers of the answer. */
export interface OperationAnswer {
  readonly result: ExecutionResult
  readonly headers: Readonly<Record<string, string>>
}
