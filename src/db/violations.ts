import { Prisma } from './generated/prisma/client.ts'

/** Whether a write failed since the row that it points to is not there. */
export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2003'
}

/** PostgreSQL's codes for two transactions that were in each other's way: serialisation, deadlock; and Prisma's. */
const conflictCodes = /\b(P2034|40001|40P01)\b/

interface Trouble {
  readonly code?: unknown
  readonly originalCode?: unknown
  readonly kind?: unknown
  readonly message?: unknown
  readonly cause?: unknown
}

/** Whether a transaction failed since another one was in its way, so that running it again makes sense. */
export function isConflict(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { code, originalCode, kind, message, cause } = error as Trouble
  if (kind === 'TransactionWriteConflict' || [code, originalCode].some(isConflictCode)) return true
  // A raw statement of Prisma Client has the code in its message alone.
  return code === 'P2010' ? isConflictCode(message) : isConflict(cause)
}

function isConflictCode(text: unknown): boolean {
  return typeof text === 'string' && conflictCodes.test(text)
}
