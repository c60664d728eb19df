import { hash } from 'node:crypto'
import type { Dependencies } from '@fusion-gateway/pothos-trees'
import type { Model } from '@fusion-gateway/prisma-trees'
import type { Metrics } from '@fusion-gateway/telemetry'
import type { Execution, OperationRequest } from './execute.ts'
import { createLogChecks, type LogChecksOptions } from './log-checks.ts'
import type { PreparedOperation } from './prepare/prepare.ts'
import { type Origin, type Reader, type Remembered, type Room, TenantMemory } from './tenant-memory.ts'

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
  const known = new WeakMap<PreparedOperation, { readonly dependencies: Dependencies | undefined }>()
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
        if (oldest.readers.size === 0) tenants.delete(tenantAppId)
      }
    },
  }

  /** What the response of an operation depends on; undefined if it can change without an event. */
  function dependenciesOf(operation: PreparedOperation): Dependencies | undefined {
    const found = known.get(operation)
    if (found) return found.dependencies
    const all = operation.kind === 'query' ? operation.dependenciesOn(changeLog) : undefined
    const dependencies = all && all.unlogged.length === 0 && all.models.size > 0 ? all : undefined
    known.set(operation, { dependencies })
    return dependencies
  }

  function memoryOf(tenantAppId: string): TenantMemory {
    const memory = tenants.get(tenantAppId) ?? new TenantMemory(tenantAppId, room)
    tenants.delete(tenantAppId)
    tenants.set(tenantAppId, memory)
    return memory
  }

  function sweep(): void {
    for (const [tenantAppId, memory] of tenants) {
      memory.removeOutdated()
      if (memory.entries.size === 0 && memory.readers.size === 0) tenants.delete(tenantAppId)
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
      const { operation, context, bodyLength } = request
      const dependencies = dependenciesOf(operation)
      if (!dependencies || bodyLength > maxBodyLength) return undefined
      const { tenantAppId } = context.viewer
      const memory = memoryOf(tenantAppId)
      if (!checks.mayWait(database.sql.nodeOf(tenantAppId))) return undefined
      const key = keyOf(request)
      const entry = memory.findRepeated(key)
      if (!entry) {
        memory.add(key, originOf(request, dependencies, changeLog.models))
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
    /** The tenants whose changes somebody follows. */
    followed(): TenantMemory[] {
      return [...tenants.values()].filter(({ followers }) => followers > 0)
    },
    /** Follows changes of the rows of a tenant, which `check` finds. Returns what ends it. */
    follow(tenantAppId: string, reader: Reader): { readonly memory: TenantMemory; end(): void } {
      const memory = memoryOf(tenantAppId)
      memory.addReader(reader)
      memory.followers += 1
      return {
        memory,
        end() {
          if (memory.removeReader(reader)) memory.followers -= 1
        },
      }
    },
    /**
     * Reads from the log what has changed, and tells those whom it concerns.
     *
     * @throws if the log cannot be read in time
     */
    check: checks.check,
  }
}

/** What requests with the same response have in common: the operation, its variables, and the rights of the viewer. */
export function keyOf({ operation, variables, context }: Execution): string {
  const { userId, scopes } = context.viewer
  const { name, summary } = operation
  return hash('sha256', JSON.stringify([summary.hash, name, userId, scopes, variables]), 'binary')
}

/**
 * What a response is read from.
 *
 * @param models those of whose rows each change is an event that names the user whom the row belongs to
 */
export function originOf(
  { variables, context }: Execution,
  dependencies: Dependencies,
  models: ReadonlySet<Model>,
): Origin {
  const { userId } = context.viewer
  // What belongs to the user of a token depends on the accounts in between too.
  return userId === undefined
    ? { models: dependencies.modelsOf(variables), ids: dependencies.idsOf(variables) }
    : { models, ids: [userId] }
}
