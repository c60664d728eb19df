import { Prisma } from './generated/prisma/client.ts'

/** Whether a write failed since the row that it points to is not there. */
export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2003'
}

/** PostgreSQL's codes for two transactions that were in each other's way: serialisation, deadlock. */
const conflictCodes = /\b(P2034|40001|40P01)\b/

/** Whether a transaction failed since another one was in its way, so that running it again makes sense. */
export function isConflict(error: unknown): boolean {
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return false
  return conflictCodes.test(error.code) || (error.code === 'P2010' && conflictCodes.test(error.message))
}
