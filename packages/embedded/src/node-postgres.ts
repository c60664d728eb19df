import { EventEmitter } from 'node:events'
import type { PGlite, Transaction } from '@electric-sql/pglite'
import pg from 'pg'
import { beginTransaction } from './transaction.ts'

/** A query as Prisma's adapter for node-postgres sends it. */
interface Query {
  readonly text: string
  readonly values?: readonly unknown[]
  readonly types: pg.CustomTypesConfig
}

const nothing = { rows: [], fields: [], rowCount: 0 }

/**
 * Creates a pool of node-postgres whose sessions are PGlite's, for Prisma's adapter. Prisma Client so reads and writes
 * values as it does on PostgreSQL. PGlite's own one (`@electric-sql/pglite/node-postgres`) does not keep statements of
 * others out of a transaction.
 */
export function createPool(pglite: PGlite): pg.Pool {
  return Object.assign(new pg.Pool(), {
    query: (query: Query) => send(pglite, query),
    async connect() {
      const { transaction, end } = await beginTransaction(pglite)
      let isOpen = true
      return Object.assign(new EventEmitter(), {
        async query(query: Query) {
          if (query.text === 'BEGIN') return nothing
          if (query.text !== 'COMMIT' && query.text !== 'ROLLBACK') return send(transaction, query)
          isOpen = false
          await end(query.text)
          return nothing
        },
        release: () => void (isOpen && end('ROLLBACK').catch(() => undefined)),
      })
    },
  })
}

/** Sends a statement, and parses its values as node-postgres does with the same types. */
export async function send(session: Pick<PGlite | Transaction, 'query'>, { text, values = [], types }: Query) {
  const { rows, fields, affectedRows } = await session.query<(string | null)[]>(text, [...values], { rowMode: 'array' })
  const parsers = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, 'text'))
  const parsed = rows.map((row) =>
    row.map((value, index): unknown => (value === null ? null : parsers[index]?.(value))),
  )
  return { rows: parsed, fields, rowCount: affectedRows ?? 0 }
}
