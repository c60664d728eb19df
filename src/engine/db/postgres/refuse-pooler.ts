import type pg from 'pg'
import { OperatorError } from '../../errors.ts'
import { Client } from './client.ts'
import type { ServerConfig } from './parse-url.ts'

/**
 * What node-postgres knows of a connection and its types leave out: the process that the server named when the
 * connection was opened.
 */
type Session = pg.ClientBase & { readonly processID: number | null }

/** PgBouncer's message for BEGIN in statement mode. */
const statementMode = /statement pooling/

/**
 * Returns a function that refuses a pooler which may give each transaction another session, such as PgBouncer in
 * transaction mode. Without DATABASE_DIRECT_URL, prepared statements and notifications would get lost there, and
 * settings would reach the sessions of other programs.
 *
 * A server names its process to a new connection, and a pooler cannot name the right one. So a server costs one
 * statement, with the first connection. A pooler costs a second connection: if both ever are in one session, or one of
 * them in two, sessions are shared.
 *
 * @param settings with which the second connection is opened
 * @param advice the end of the error: what the operator does about it
 */
export function refusePooler(settings: ServerConfig, advice: string): (session: pg.ClientBase) => Promise<void> {
  let checked: Promise<void> | undefined
  const check = async (session: Session) => {
    const first = await processOf(session)
    if (first === session.processID) return
    const second = new Client(settings)
    second.on('error', () => undefined)
    try {
      await second.connect()
      await second.query('BEGIN')
      const ofSecond = [await processOf(second)]
      const ofFirst = [first, await processOf(session)]
      await second.query('COMMIT')
      ofSecond.push(await processOf(second))
      const isShared = ofFirst.some((process) => ofSecond.includes(process))
      if (!isShared && new Set(ofFirst).size === 1 && new Set(ofSecond).size === 1) return
    } catch (error) {
      if (!statementMode.test((error as Error).message)) throw error
      throw new OperatorError(
        `${addressOf(settings)} is a pooler in statement mode, which has no transactions. Use session or transaction mode.`,
      )
    } finally {
      await second.end().catch(() => undefined)
    }
    throw new OperatorError(`${addressOf(settings)} is a pooler that shares sessions between transactions. ${advice}`)
  }
  return (session) => {
    checked ??= check(session as Session).catch((error: unknown) => {
      // Whether it is a pooler, the next connection finds out.
      if (!(error instanceof OperatorError)) checked = undefined
      throw error
    })
    return checked
  }
}

async function processOf(session: pg.ClientBase): Promise<number> {
  const { rows } = await session.query<{ process: number }>('SELECT pg_backend_pid() AS process')
  return rows[0]?.process as number
}

function addressOf({ host, port }: ServerConfig): string {
  return `${host}:${port ?? 5432}`
}
