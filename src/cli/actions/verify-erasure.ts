import { findMentions } from '../../domain/erasure/find-mentions.ts'
import { findTenant } from '../../domain/tenant/tenant.service.ts'
import type { Io } from '../io.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export interface ErasureOptions {
  readonly user: string
  readonly tenant?: string
  readonly text: readonly string[]
  readonly json?: boolean
}

/** A statement reads every column of a table, which can take an hour. */
const statementMilliseconds = 3_600_000

export function verifyErasure(io: Io, { user: userId, tenant, text: texts, json }: ErasureOptions): Promise<void> {
  return withMigratedDatabase(
    io,
    async (database) => {
      const tenantAppId = tenant === undefined ? undefined : (await findTenant(database, tenant)).id
      const mentions = await findMentions(database, { userId, texts, ...(tenantAppId && { tenantAppId }) })
      if (json) for (const mention of mentions) io.stdout.write(`${JSON.stringify(mention)}\n`)
      else if (mentions.length > 0) {
        const rows = mentions.map(({ table, column, rows, isKept }) => [
          table,
          column,
          String(rows),
          isKept ? 'kept' : 'found',
        ])
        printTable(io.stdout, ['TABLE', 'COLUMN', 'ROWS', 'STATE'], rows)
      }
      const isErased = mentions.every(({ isKept }) => isKept)
      if (!isErased) io.exitCode = 1
      io.stderr.write(
        isErased
          ? `No row names ${userId}, except for the ids in the event log.\n`
          : `Some rows name ${userId}. The gateway erases what names a deleted user within seconds, and what a running job has when the job ends.\n`,
      )
    },
    { statementMilliseconds },
  )
}
