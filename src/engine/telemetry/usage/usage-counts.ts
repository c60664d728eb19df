import type { Client } from './client.ts'
import { bucketOf } from './durations.ts'
import {
  addFields,
  addTo,
  type CountNames,
  keyOf,
  newCount,
  type OperationCount,
  other,
  othersOf,
} from './operation-count.ts'

/** The part of a prepared operation that usage depends on. */
export interface CountedOperation {
  readonly name: string | undefined
  readonly hash: string | undefined
  readonly fields: ReadonlySet<string>
}

/** Who sends an operation. */
export interface Caller {
  readonly viewer: { readonly tenantAppId: string; readonly keyId: string }
  readonly client: Client | undefined
  readonly operation: CountedOperation
}

/** The counts of a tenant since they were last taken. */
export interface TenantCount {
  readonly tenantAppId: string
  readonly operations: Map<string, OperationCount>
  /** The number of requests that selected each field. */
  readonly fields: Map<string, number>
}

/** What documents that are not valid count as. */
export const invalidOperation: CountedOperation = { name: '(invalid)', hash: undefined, fields: new Set() }

/**
 * The most operations that are counted apart: of a tenant, and of all. It bounds the memory, whatever names clients
 * send.
 */
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

  /** The count with these names, or that of the others. */
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

    /** Adds points that an operation was charged. */
    addPoints(caller: Caller, points: number): void {
      countOf(caller).points += points
    },

    /** Takes the counts of some tenants, about as many as one statement can write. Empty if nothing was counted. */
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

    /** Puts back counts that could not be passed on. */
    putBack(taken: readonly TenantCount[]): void {
      for (const { tenantAppId, operations, fields } of taken) {
        const tenant = tenantOf(tenantAppId)
        for (const count of operations.values()) addTo(place(tenant, count, count.fields), count)
        for (const [field, requests] of fields) tenant.fields.set(field, (tenant.fields.get(field) ?? 0) + requests)
      }
    },
  }
}
