import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { readTenantTables } from '../partitions/tenant-tables.ts'
import { query, statement } from '../statement.ts'

/**
 * Whether a migration creates or drops indexes without locking their tables. PostgreSQL does not allow that in a
 * transaction.
 */
export function isConcurrent(script: string): boolean {
  return /^(CREATE|DROP) INDEX CONCURRENTLY /m.test(script)
}

const createForm = /^CREATE (UNIQUE )?INDEX CONCURRENTLY "(\w+)" ON "(\w+)"(.*)$/s
const dropForm = /^DROP INDEX CONCURRENTLY IF EXISTS "(\w+)"$/
const isPartitioned = statement(`SELECT relkind = 'I' FROM pg_class WHERE oid = to_regclass(quote_ident($1))`)

/**
 * Splits a migration into statements that run one by one. PostgreSQL cannot create the index of a partitioned table
 * concurrently, so the index of each partition is created concurrently instead and attached to that of the table.
 *
 * Each index is dropped first, because an interrupted statement leaves an invalid one.
 *
 * @see https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITIONING-DECLARATIVE-MAINTENANCE
 */
export async function splitConcurrent(sql: SqlQueryable, script: string): Promise<string[]> {
  const tables = await readTenantTables(sql)
  const statements: string[] = []
  for (const part of script.split(/;$/m)) {
    const text = part.replace(/^(\s|--.*$)*/m, '')
    const [, dropped] = dropForm.exec(text) ?? []
    const [, unique = '', index = '', table, rest] = createForm.exec(text) ?? []
    const partitions = tables.find(({ name }) => name === table || name === `"${table}"`)?.partitions ?? []
    if (dropped !== undefined && (await query(sql, isPartitioned, [dropped]))[0]?.[0] === true) {
      statements.push(`DROP INDEX "${dropped}"`)
    } else if (partitions.length > 0) {
      statements.push(`CREATE ${unique}INDEX "${index}" ON ONLY "${table}"${rest}`)
      for (const [position, partition] of partitions.entries()) {
        const ofPartition = `"${index.slice(0, maxNameLength)}_p${position}"`
        statements.push(
          `DROP INDEX CONCURRENTLY IF EXISTS ${ofPartition}`,
          `CREATE ${unique}INDEX CONCURRENTLY ${ofPartition} ON ${partition}${rest}`,
          `ALTER INDEX "${index}" ATTACH PARTITION ${ofPartition}`,
        )
      }
    } else if (text !== '') statements.push(text)
  }
  return statements
}

/** PostgreSQL cuts names after 63 bytes. This leaves room for the number of a partition. */
const maxNameLength = 57
