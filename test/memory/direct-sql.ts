import type { Database } from '@fusion-gateway/database'
import pg from 'pg'

/** Sends a statement of a transaction. Returns its rows. */
export type Query = (sql: string, values?: readonly (string | number)[]) => Promise<Record<string, unknown>[]>

/** Writes that bypass the gateway. */
export interface DirectSql {
  /**
   * Runs work in a transaction.
   *
   * @returns whether it was committed
   */
  transact(work: (query: Query) => Promise<'commit' | 'roll back'>): Promise<boolean>
  /** Whether a transaction can stay open while others read and write. */
  readonly mayHold: boolean
  close(): Promise<void>
}

/** Sessions of their own on a PostgreSQL server. */
export function connectDirectly(connectionString: string): DirectSql {
  const pool = new pg.Pool({ connectionString, max: 40 })
  // A server that is restarted ends the sessions. The next statement says so.
  pool.on('error', () => undefined)
  return {
    mayHold: true,
    async transact(work) {
      const session = await pool.connect()
      session.on('error', ignore)
      let error: Error | undefined
      try {
        await session.query('BEGIN')
        const outcome = await work(async (sql, values = []) => (await session.query(sql, [...values])).rows)
        await session.query(outcome === 'commit' ? 'COMMIT' : 'ROLLBACK')
        return outcome === 'commit'
      } catch (thrown) {
        error = thrown as Error
        throw thrown
      } finally {
        session.off('error', ignore)
        // After an error the session is closed, which ends its transaction.
        session.release(error)
      }
    },
    close: () => pool.end(),
  }
}

const ignore = () => undefined

class RolledBack extends Error {}

/** The session of the embedded database, which the gateway uses too. */
export function shareSession({ prisma }: Database): DirectSql {
  return {
    mayHold: false,
    async transact(work) {
      try {
        await prisma.$transaction(async (transaction) => {
          const outcome = await work((sql, values = []) => transaction.$queryRawUnsafe(sql, ...values))
          if (outcome === 'roll back') throw new RolledBack()
        })
        return true
      } catch (error) {
        if (error instanceof RolledBack) return false
        throw error
      }
    },
    close: async () => undefined,
  }
}
