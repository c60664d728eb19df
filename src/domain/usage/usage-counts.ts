import type { Caller } from '@fusion-gateway/telemetry'

// Durations are counted in fixed buckets, so that the counts of several processes and days add up. Each bucket ends √2
// times as late as the one before: at 1 ms, 1.4 ms, 2 ms, … 11.6 s. The last one has no end.

const bucketCount = 29

function bucketOf(milliseconds: number): number {
  const bucket = Math.ceil(2 * Math.log2(Math.max(milliseconds, 1)))
  return Math.min(bucket, bucketCount - 1)
}

/**
 * The duration in milliseconds that a part of the requests did not exceed, such as 0.95, to within its bucket. 0
 * without requests.
 */
export function quantileOf(part: number, counts: readonly number[]): number {
  let left = part * counts.reduce((sum, count) => sum + count, 0)
  if (left === 0) return 0
  const bucket = counts.findIndex((count) => {
    left -= count
    return left <= 0
  })
  const [start, end] = [bucket === 0 ? 0 : 2 ** ((bucket - 1) / 2), 2 ** (bucket / 2)]
  const within = 1 + left / (counts[bucket] ?? 1)
  return Math.round((start + (end - start) * within) * 10) / 10
}

export interface TenantCount {
  readonly tenantAppId: string
  readonly operations: Map<string, OperationCount>
  readonly fields: Map<string, number>
}

/** The most operations that are counted apart, of a tenant and of all, whatever names clients send. */
export const maxOperations = { ofTenant: 1_000, ofAll: 10_000 }

export type UsageCounts = ReturnType<typeof createUsageCounts>

/** Creates the counts of the operations that a process executes. They grow until `take` passes them on. */
export function createUsageCounts() {
  const tenants = new Map<string, TenantCount>()
  let size = 0

  function tenantOf(tenantAppId: string): TenantCount {
    const known = tenants.get(tenantAppId)
    if (known) return known
    const tenant: TenantCount = { tenantAppId, operations: new Map(), fields: new Map() }
    tenants.set(tenantAppId, tenant)
    return tenant
  }

  /** The count with these names, or the count of the others. */
  function place({ operations }: TenantCount, wanted: CountNames, fields: ReadonlySet<string>): OperationCount {
    const known = operations.get(keyOf(wanted))
    if (known) return known
    const isFull = operations.size >= maxOperations.ofTenant || size >= maxOperations.ofAll
    // A tenant can create many keys, so these are bounded too.
    const names = isFull ? othersOf(size < 2 * maxOperations.ofAll ? wanted.keyId : other) : wanted
    const key = keyOf(names)
    const found = operations.get(key)
    if (found) {
      addFields(found, fields)
      return found
    }
    const added = newCount(names, fields)
    operations.set(key, added)
    size += 1
    return added
  }

  function countOf({ viewer: { tenantAppId, keyId }, client, operation }: Caller): OperationCount {
    const names = { clientName: client?.name, clientVersion: client?.version, operationName: operation.name }
    return place(tenantOf(tenantAppId), { keyId, ...names, operationHash: operation.hash }, operation.fields)
  }

  return {
    count(caller: Caller, milliseconds: number, hasFailed: boolean): void {
      const count = countOf(caller)
      count.requests += 1
      if (hasFailed) count.errors += 1
      const bucket = bucketOf(milliseconds)
      count.durations[bucket] = (count.durations[bucket] ?? 0) + 1
      const { fields } = tenantOf(caller.viewer.tenantAppId)
      for (const field of caller.operation.fields) fields.set(field, (fields.get(field) ?? 0) + 1)
    },

    addPoints(caller: Caller, points: number): void {
      countOf(caller).points += points
    },

    /** Takes the counts of some tenants, about as many as one statement can write. */
    take(): TenantCount[] {
      const taken: TenantCount[] = []
      let rows = 0
      for (const tenant of tenants.values()) {
        if (rows >= maxOperations.ofTenant) break
        taken.push(tenant)
        tenants.delete(tenant.tenantAppId)
        rows += tenant.operations.size + tenant.fields.size
        size -= tenant.operations.size
      }
      return taken
    },

    putBack(taken: readonly TenantCount[]): void {
      for (const { tenantAppId, operations, fields } of taken) {
        const tenant = tenantOf(tenantAppId)
        for (const count of operations.values()) addTo(place(tenant, count.names, count.fields), count)
        for (const [field, requests] of fields) tenant.fields.set(field, (tenant.fields.get(field) ?? 0) + requests)
      }
    },
  }
}

/** Who requested what. Undefined for what the client or the operation does not name. */
export interface CountNames {
  readonly keyId: string
  readonly clientName: string | undefined
  readonly clientVersion: string | undefined
  readonly operationName: string | undefined
  /** The SHA-256 of the document, hexadecimal. */
  readonly operationHash: string | undefined
}

export interface OperationCount {
  readonly names: CountNames
  /** The fields of the schema that the operation selects: `User.email`. */
  fields: ReadonlySet<string>
  requests: number
  errors: number
  points: number
  readonly durations: number[]
}

/** Stands for names beyond the bounds. No operation has this name. */
const other = '(other)'

/** The names under which a key's operations beyond the bounds are counted. */
export function othersOf(keyId: string): CountNames {
  return { keyId, clientName: other, clientVersion: undefined, operationName: other, operationHash: undefined }
}

export function newCount(names: CountNames, fields: ReadonlySet<string>): OperationCount {
  return { names, fields, requests: 0, errors: 0, points: 0, durations: new Array<number>(bucketCount).fill(0) }
}

/** A text that is the same for equal names. Names contain no line feeds. */
export function keyOf({ keyId, clientName, clientVersion, operationName, operationHash }: CountNames): string {
  return `${keyId}\n${clientName ?? ''}\n${clientVersion ?? ''}\n${operationName ?? ''}\n${operationHash ?? ''}`
}

export function addTo(sum: OperationCount, { fields, requests, errors, points, durations }: OperationCount): void {
  addFields(sum, fields)
  sum.requests += requests
  sum.errors += errors
  sum.points += points
  for (const [bucket, count] of durations.entries()) sum.durations[bucket] = (sum.durations[bucket] ?? 0) + count
}

function addFields(count: OperationCount, fields: ReadonlySet<string>): void {
  // The set may be that of the prepared operation, so it is replaced.
  for (const field of fields) {
    if (!count.fields.has(field)) count.fields = new Set([...count.fields, ...fields])
  }
}
