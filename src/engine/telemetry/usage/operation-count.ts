import { bucketCount } from './durations.ts'

/** Who requested what. Undefined for what the client or the operation does not name. */
export interface CountNames {
  readonly keyId: string
  readonly clientName: string | undefined
  readonly clientVersion: string | undefined
  readonly operationName: string | undefined
  /** The SHA-256 of the document, hexadecimal. */
  readonly operationHash: string | undefined
}

/** The requests of one client of a key for one operation. */
export interface OperationCount extends CountNames {
  /** The fields of the schema that the operation selects: `User.email`. */
  fields: ReadonlySet<string>
  requests: number
  errors: number
  points: number
  /** The number of requests in each bucket of `durations.ts`. */
  readonly durations: number[]
}

/** Stands for names beyond the bounds. No operation has this name. */
export const other = '(other)'

/** The names under which a key's operations beyond the bounds are counted. */
export function othersOf(keyId: string): CountNames {
  return { keyId, clientName: other, clientVersion: undefined, operationName: other, operationHash: undefined }
}

export function newCount(
  { keyId, clientName, clientVersion, operationName, operationHash }: CountNames,
  fields: ReadonlySet<string>,
): OperationCount {
  const names = { keyId, clientName, clientVersion, operationName, operationHash }
  return { ...names, fields, requests: 0, errors: 0, points: 0, durations: new Array<number>(bucketCount).fill(0) }
}

/** A text that is the same for equal names. Names contain no line feeds. */
export function keyOf({ keyId, clientName, clientVersion, operationName, operationHash }: CountNames): string {
  return `${keyId}\n${clientName ?? ''}\n${clientVersion ?? ''}\n${operationName ?? ''}\n${operationHash ?? ''}`
}

/** Adds a count to another one. */
export function addTo(sum: OperationCount, { fields, requests, errors, points, durations }: OperationCount): void {
  addFields(sum, fields)
  sum.requests += requests
  sum.errors += errors
  sum.points += points
  for (const [bucket, count] of durations.entries()) sum.durations[bucket] = (sum.durations[bucket] ?? 0) + count
}

export function addFields(count: OperationCount, fields: ReadonlySet<string>): void {
  // The set may be that of the prepared operation, so it is replaced.
  for (const field of fields) {
    if (!count.fields.has(field)) count.fields = new Set([...count.fields, ...fields])
  }
}
