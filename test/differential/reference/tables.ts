import type { Database } from '@fusion-gateway/database'

/** A row as the reference knows it: with the names of fields, times as they are sent, and the name of its type. */
export interface Row {
  readonly __typename: Typename
  readonly id: string
  readonly [field: string]: unknown
}

const tableNames = {
  User: '"user"',
  Account: 'account',
  Profile: 'profile',
  EmailRecord: 'email_record',
  Job: 'job',
  ApiKey: 'api_key',
  Event: 'event',
}

export type Typename = keyof typeof tableNames

export type Tables = Readonly<Record<Typename, readonly Row[]>>

/**
 * Reads all rows of a tenant, a table at a time. The database writes them as JSON, so no code of the gateway decodes
 * them.
 *
 * @param typenames the tables to read; the others are left empty
 */
export async function readTables(
  { prisma }: Pick<Database, 'prisma'>,
  tenantAppId: string,
  typenames = Object.keys(tableNames),
): Promise<Tables> {
  const read = Object.entries(tableNames).map(async ([typename, table]) => {
    if (!typenames.includes(typename)) return [typename, []] as const
    const rows = await prisma.$queryRawUnsafe<{ row: string }[]>(
      `SELECT to_json(t)::text AS row FROM ${table} AS t WHERE tenant_app_id = $1`,
      tenantAppId,
    )
    return [typename, rows.map(({ row }) => toRow(typename as Typename, JSON.parse(row)))] as const
  })
  return Object.fromEntries(await Promise.all(read)) as unknown as Tables
}

function toRow(typename: Typename, columns: Record<string, unknown>): Row {
  const fields = Object.entries(columns).map(([column, value]) => {
    const isTime = column.endsWith('_at') && typeof value === 'string'
    const field = column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
    return [field, isTime ? new Date(value).toISOString() : value] as const
  })
  return { ...Object.fromEntries(fields), __typename: typename } as Row
}

/** The place of each text in the order of the database, which depends on its collation. */
export type TextOrder = ReadonlyMap<string, number>

/** Asks the database for the order of texts. */
export async function orderTexts({ prisma }: Pick<Database, 'prisma'>, texts: ReadonlySet<string>): Promise<TextOrder> {
  const rows = await prisma.$queryRawUnsafe<{ text: string }[]>(
    'SELECT text FROM unnest($1::text[]) AS text ORDER BY text',
    [...texts],
  )
  return new Map(rows.map(({ text }, index) => [text, index]))
}

/** The texts of rows by which lists are ordered. */
export function orderedTexts(...of: readonly Tables[]): Set<string> {
  const rows = of.flatMap((tables) => Object.values(tables).flat())
  const texts = rows.flatMap((row) => [row.id, row['platform'], row['status'], row['name'] && firstOf(row['name'])])
  return new Set(texts.filter((text) => typeof text === 'string'))
}

/** The first 200 characters of a name, by which names are ordered. */
export function firstOf(name: unknown): string {
  return [...String(name)].slice(0, 200).join('')
}
