/** PostgreSQL's names of the types that Prisma names otherwise. */
const columnTypes: Record<string, string> = {
  String: 'text',
  Int: 'integer',
  BigInt: 'bigint',
  Float: 'double precision',
  Boolean: 'boolean',
  DateTime: 'timestamptz',
  Json: 'json',
  JobStatus: 'job_status',
}

/**
 * PostgreSQL's name of a column's type.
 *
 * @param type Prisma's name
 */
export function columnType(type: string): string {
  const name = columnTypes[type]
  if (name === undefined) throw new Error(`PostgreSQL's name of the type ${type} is not noted`)
  return name
}
