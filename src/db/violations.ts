import { Prisma } from './generated/prisma/client.ts'

/** Whether a write failed since the row that it points to is not there. */
export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2003'
}
