import { hash } from 'node:crypto'
import type { Dependencies } from '@fusion-gateway/pothos-trees'
import type { Metrics } from '@fusion-gateway/telemetry'
import type { OperationRequest } from './execute.ts'
import { createLogChecks, type LogChecksOptions } from './log-checks.ts'
import type { PreparedOperation } from './prepare/prepare.ts'
import { type Remembered, type Room, TenantMemory } from './tenant-memory.ts'

// Responses that were read before. A response from here equals what reading would have returned at a moment between the
// arrival of the request and its response, because the log of events, which has every change of the rows, is read
// before each use (docs/caching.md).

export interface ResponseMemoryOptions extends LogChecksOptions {
  /** The most bytes that it keeps. */
  readonly maxBytes: number
  readonly metrics: Pick<Metrics, 'keptResponses'>
}

/** How often responses are removed that would be read anew. */
const sweepMilliseconds = 60_000

/** Requests with longer bodies are rarely repeated. */
const maxBodyLength = 16 * 1024

/** The part that stays when there is too much: removing many entries at once costs less than one by one. */
const keptPart = 15 / 16

/** What is not kept, because it was not requested lately. */
const unknown: Remembered = { response: undefined, release: () => undefined }

export function createResponseMemory(options: ResponseMemoryOptions) {
  const { maxBytes, database, changeLog, metrics } = options
  const { keptResponses } = metrics
  const checks = createLogChecks(options)
  const maxOfTenant = maxBytes / 4
  /** The least recently requested first. */
  const tenants = new Map<string, TenantMemory>()
  const known = new WeakMap<PreparedOperation, { readonly number: number; readonly dependencies?: Dependencies }>()
  let numbers = 0
  let bytes = 0

  const room: Room = {
    maxOfEntry: maxBytes / 8,
    metrics: keptResponses,
    resize(difference) {
      bytes += difference
      keptResponses.bytes.set(bytes)
    },
    make(memory) {
      if (memory.bytes > maxOfTenant) memory.removeOldest(() => memory.bytes > maxOfTenant * keptPart)
      if (bytes <= maxBytes) return
      for (const [tenantAppId, oldest] of tenants) {
        oldest.removeOldest(() => bytes > maxBytes * keptPart)
        if (oldest.entries.size > 0) return
        if (oldest.readings.size === 0) tenants.delete(tenantAppId)
      }
    },
  }

  function operationOf(operation: PreparedOperation) {
    const found = known.get(operation)
    if (found) return found
    numbers += 1
    const dependencies = operation.kind === 'query' ? operation.dependenciesOn(changeLog.models) : undefined
    const added = { number: numbers, ...(dependencies && { dependencies }) }
    known.set(operation, added)
    return added
  }

  function memoryOf(tenantAppId: string): TenantMemory {
    const memory = tenants.get(tenantAppId) ?? new TenantMemory(room)
    tenants.delete(tenantAppId)
    tenants.set(tenantAppId, memory)
    return memory
  }

  function sweep(): void {
    for (const [tenantAppId, memory] of tenants) {
      memory.removeOutdated()
      if (memory.entries.size === 0 && memory.readings.size === 0) tenants.delete(tenantAppId)
    }
  }

  const sweeping = setInterval(sweep, sweepMilliseconds).unref()

  return {
    /** Called when the process stops. */
    close: () => clearInterval(sweeping),
    /**
     * Looks for the response to a query. Waits for the log if the query was requested within the last minute.
     *
     * @returns undefined if the response can change without an event, or the log cannot be read: the query reports why,
     *   or can still use a replica
     */
    async find(request: OperationRequest): Promise<Remembered | undefined> {
      const { operation, variables, context, bodyLength } = request
      const { number, dependencies } = operationOf(operation)
      if (!dependencies || bodyLength > maxBodyLength) return undefined
      const { tenantAppId, userId, scopes } = context.viewer
      const memory = memoryOf(tenantAppId)
      if (!checks.mayWait(database.sql.nodeOf(tenantAppId))) return undefined
      const key = hash('sha256', JSON.stringify([number, userId, scopes, variables]), 'binary')
      const entry = memory.findRepeated(key)
      if (!entry) {
        // What belongs to the user of a token depends on the accounts in between too.
        const origin =
          userId === undefined
            ? { models: dependencies.models, ids: dependencies.idsOf(variables) }
            : { models: changeLog.models, ids: [userId] }
        memory.add(key, origin)
        keptResponses.lookups.inc({ outcome: 'miss' })
        return unknown
      }
      try {
        await checks.check(request, memory)
      } catch {
        return undefined
      }
      return memory.begin(entry)
    },
  }
}
