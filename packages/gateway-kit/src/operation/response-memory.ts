import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Database } from '@fusion-gateway/database'
import type { FairQueue } from '@fusion-gateway/limits'
import type { Dependencies } from '@fusion-gateway/pothos-trees'
import type { Model } from '@fusion-gateway/prisma-trees'
import type { Metrics } from '@fusion-gateway/telemetry'
import type { Change, ChangeLog, LogPosition } from '../change-log.ts'
import type { OperationRequest } from './execute.ts'
import { createLogWaits } from './log-waits.ts'
import type { PreparedOperation } from './prepare/prepare.ts'
import type { KeptResponse } from './written-result.ts'

// Responses that were read before. A response from here equals what reading would have returned at a moment between the
// arrival of the request and its response, because the log of events, which has every change of the rows, is read
// before each use (docs/caching.md).

export interface ResponseMemoryOptions {
  /** The most bytes that it keeps. */
  readonly maxBytes: number
  readonly database: Pick<Database, 'sql' | 'probe'>
  readonly changeLog: ChangeLog
  /** How long a request waits for a check of the log: 250 ms. */
  readonly waitMilliseconds?: number | undefined
  /** Runs the checks of the log, one of each tenant at a time. */
  readonly queue: FairQueue
  readonly metrics: Pick<Metrics, 'keptResponses'>
}

/** The response to a query that may be kept. */
export interface Remembered {
  /** The response, if it is kept. Otherwise the query has to be executed. */
  readonly response: KeptResponse | undefined
  /**
   * Keeps the response to the executed query, if nothing has changed meanwhile. The query must have read from the
   * primary, where the log was read. Absent if the query was not requested lately.
   */
  readonly keep?: (response: NewResponse) => KeptResponse
  /** Called at the end, whether or not the response was kept. */
  release(): void
}

interface NewResponse extends Pick<KeptResponse, 'length'> {
  readonly data: unknown
}

/** How long a response stays without being read anew, for writes that the log does not have. */
const maxAgeMilliseconds = 5 * 60_000

/** A response is kept if it is requested again within this time. */
const repeatMilliseconds = 60_000

/** How often responses are removed that would be read anew: they can have what was deleted meanwhile. */
const sweepMilliseconds = 60_000

/** Requests with longer bodies are rarely repeated. */
const maxBodyLength = 16 * 1024

/**
 * The part that stays when there is too much. To find the first entry of a map takes longer the more have been removed
 * before it, so many are removed at once.
 */
const keptPart = 15 / 16

/** The bytes of an entry besides its texts, about: its key, its place in a map, and that of each of its ids. */
const entryBytes = 600
const idBytes = 200

/** An operation and variables that were requested by viewers with the same rights. */
interface Entry {
  readonly key: string
  readonly models: ReadonlySet<Model>
  /** The ids of the rows that it starts from; undefined: any row of the models concerns it. */
  readonly ids: readonly string[] | undefined
  derived: Map<string, readonly (string | Buffer)[]> | undefined
  requestedAt: number
  bytes: number
  kept: { readonly response: KeptResponse; readonly readAt: number } | undefined
}

/** A response that is being read. Meanwhile the log is checked for other requests. */
interface Reading extends Pick<Entry, 'models' | 'ids'> {
  isOutdated: boolean
}

/** What is kept for a tenant. */
interface TenantMemory {
  /** The least recently requested first. */
  readonly entries: Map<string, Entry>
  readonly readings: Set<Reading>
  /** The entries with a response that start from rows, by the ids of these. */
  readonly byId: Map<string, Set<Entry>>
  /** The other entries with a response, by the models of their rows. */
  readonly byModel: Map<Model, Set<Entry>>
  bytes: number
  server: string | undefined
  position: LogPosition | undefined
  /** The check of the log that has not been sent yet. */
  nextCheck: Promise<void> | undefined
}

/** Creates the memory of a process. */
export function createResponseMemory(options: ResponseMemoryOptions) {
  const { maxBytes, database, changeLog, queue, metrics, waitMilliseconds = 250 } = options
  const { keptResponses } = metrics
  const waits = createLogWaits(waitMilliseconds)
  const maxOfTenant = maxBytes / 4
  const maxOfEntry = maxBytes / 8
  /** The least recently requested first. */
  const tenants = new Map<string, TenantMemory>()
  const known = new WeakMap<PreparedOperation, { readonly number: number; readonly dependencies?: Dependencies }>()
  let numbers = 0
  let bytes = 0

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
    const memory = tenants.get(tenantAppId) ?? newMemory()
    tenants.delete(tenantAppId)
    tenants.set(tenantAppId, memory)
    return memory
  }

  function resize(memory: TenantMemory, entry: Entry, size: number): void {
    memory.bytes += size - entry.bytes
    bytes += size - entry.bytes
    entry.bytes = size
    keptResponses.bytes.set(bytes)
  }

  /** Forgets the response of an entry, and remembers that it was requested. */
  function forgetResponse(memory: TenantMemory, entry: Entry): void {
    if (!entry.kept) return
    entry.kept = undefined
    entry.derived = undefined
    if (entry.ids) removeFrom(memory.byId, entry.ids, entry)
    else removeFrom(memory.byModel, entry.models, entry)
    resize(memory, entry, bytesWithoutResponse(entry))
  }

  function remove(memory: TenantMemory, entry: Entry): void {
    forgetResponse(memory, entry)
    resize(memory, entry, 0)
    memory.entries.delete(entry.key)
  }

  function forgetAll(memory: TenantMemory): void {
    for (const entry of memory.entries.values()) forgetResponse(memory, entry)
    for (const reading of memory.readings) reading.isOutdated = true
  }

  /** Removes what was requested least recently, if there is too much, until the rest has room. */
  function makeRoom(memory: TenantMemory): void {
    if (memory.bytes > maxOfTenant) removeOldest(memory, () => memory.bytes > maxOfTenant * keptPart)
    if (bytes <= maxBytes) return
    for (const [tenantAppId, oldest] of tenants) {
      removeOldest(oldest, () => bytes > maxBytes * keptPart)
      if (oldest.entries.size > 0) return
      if (oldest.readings.size === 0) tenants.delete(tenantAppId)
    }
  }

  function removeOldest(memory: TenantMemory, isTooMuch: () => boolean): void {
    for (const entry of memory.entries.values()) {
      if (!isTooMuch()) return
      remove(memory, entry)
    }
  }

  /** Forgets what changes concern. It visits only the responses that depend on the changed rows. */
  function apply(memory: TenantMemory, changes: readonly Change[]): void {
    const changed = new Map<Model, Set<string>>()
    for (const { models, ids } of changes) {
      for (const model of models) {
        const idsOfModel = changed.get(model) ?? new Set()
        changed.set(model, idsOfModel)
        for (const id of ids) idsOfModel.add(id)
      }
    }
    const isOutdated = ({ models, ids }: Pick<Entry, 'models' | 'ids'>) =>
      [...models].some((model) => {
        const idsOfModel = changed.get(model)
        return idsOfModel !== undefined && (ids === undefined || ids.some((id) => idsOfModel.has(id)))
      })
    const forgetOutdated = (entries: Iterable<Entry> = []) => {
      for (const entry of [...entries]) {
        if (!isOutdated(entry)) continue
        forgetResponse(memory, entry)
        keptResponses.invalidations.inc()
      }
    }
    for (const reading of memory.readings) reading.isOutdated ||= isOutdated(reading)
    for (const [model, ids] of changed) {
      forgetOutdated(memory.byModel.get(model))
      for (const id of ids) forgetOutdated(memory.byId.get(id))
    }
  }

  /**
   * Reads from the log what has changed, and forgets the responses that it concerns. Requests wait for the first check
   * that is sent after they have arrived, so those of one turn of the event loop share one. One is sent after the other
   * has ended, so their snapshots are in the same order.
   *
   * @throws if the log cannot be read in time
   */
  function checkLog(request: OperationRequest, memory: TenantMemory): Promise<void> {
    const server = database.sql.nodeOf(request.context.viewer.tenantAppId)
    memory.nextCheck ??= waits.wait(server, () => runNextCheck(request, memory))
    return memory.nextCheck
  }

  async function runNextCheck({ statements, context }: OperationRequest, memory: TenantMemory): Promise<void> {
    const { tenantAppId } = context.viewer
    const { observe, requestId } = statements
    // Others wait for it too. It goes to the primary, whatever the request may read.
    const own = { statements: 0, tenantAppId, observe, ...(requestId !== undefined && { requestId }) }
    await setImmediate()
    await queue.run(context.viewer, async () => {
      memory.nextCheck = undefined
      try {
        // Statements of requests that wait for locks can have all connections.
        const { sql, probe } = database
        const sender = sql.nodes.length > 0 ? sql : probe
        const found = await changeLog.readChanges(sender.for(own, { isShared: true }), tenantAppId, memory.position)
        statements.statements += own.statements
        if (!found) return
        const isSame = found.server === memory.server
        memory.server = found.server
        memory.position = found.position
        if (!isSame || !found.changes) forgetAll(memory)
        else if (found.changes.length > 0) apply(memory, found.changes)
      } catch (error) {
        memory.position = undefined
        memory.server = undefined
        forgetAll(memory)
        throw error
      }
    })
  }

  function keep(memory: TenantMemory, entry: Entry, { data, length }: NewResponse): KeptResponse {
    const text = JSON.stringify(data)
    const response: KeptResponse = {
      text,
      length,
      find: (name) => (entry.kept?.response === response ? (entry.derived?.get(name) as never) : undefined),
      add(name, made) {
        if (entry.kept?.response !== response || entry.derived?.has(name)) return
        const size = entry.bytes + [name, ...made].reduce((sum, part) => sum + idBytes + bytesOf(part), 0)
        if (size > maxOfEntry) return
        entry.derived ??= new Map()
        entry.derived.set(name, made)
        resize(memory, entry, size)
        makeRoom(memory)
      },
    }
    const size = bytesWithoutResponse(entry) + bytesOf(text)
    // The entry can have been removed meanwhile.
    if (size > maxOfEntry || memory.entries.get(entry.key) !== entry) return response
    forgetResponse(memory, entry)
    entry.kept = { response, readAt: performance.now() }
    if (entry.ids) addTo(memory.byId, entry.ids, entry)
    else addTo(memory.byModel, entry.models, entry)
    resize(memory, entry, size)
    makeRoom(memory)
    return response
  }

  /** The response of an entry, if it is kept, or what keeps it when it has been read. */
  function begin(memory: TenantMemory, entry: Entry): Remembered {
    const { kept, models, ids } = entry
    if (kept && performance.now() - kept.readAt < maxAgeMilliseconds) {
      keptResponses.lookups.inc({ outcome: 'hit' })
      return { response: kept.response, release: () => undefined }
    }
    keptResponses.lookups.inc({ outcome: 'miss' })
    const reading: Reading = { models, ids, isOutdated: false }
    memory.readings.add(reading)
    return {
      response: undefined,
      keep: (response) => (reading.isOutdated ? unkept(response) : keep(memory, entry, response)),
      release: () => memory.readings.delete(reading),
    }
  }

  function sweep(): void {
    const before = performance.now() - maxAgeMilliseconds
    for (const [tenantAppId, memory] of tenants) {
      for (const entry of memory.entries.values()) {
        if (entry.kept ? entry.kept.readAt < before : entry.requestedAt < before) remove(memory, entry)
      }
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
      if (!waits.mayWait(database.sql.nodeOf(tenantAppId))) return undefined
      const now = performance.now()
      const key = hash('sha256', JSON.stringify([number, userId, scopes, variables]), 'binary')
      const entry = memory.entries.get(key)
      if (!entry || now - entry.requestedAt > repeatMilliseconds) {
        if (entry) remove(memory, entry)
        // What belongs to the user of a token depends on the accounts in between too.
        const startsFrom =
          userId === undefined
            ? { models: dependencies.models, ids: dependencies.idsOf(variables) }
            : { models: changeLog.models, ids: [userId] }
        const added: Entry = { key, ...startsFrom, derived: undefined, requestedAt: now, bytes: 0, kept: undefined }
        memory.entries.set(key, added)
        resize(memory, added, bytesWithoutResponse(added))
        makeRoom(memory)
        keptResponses.lookups.inc({ outcome: 'miss' })
        return unknown
      }
      entry.requestedAt = now
      memory.entries.delete(key)
      memory.entries.set(key, entry)
      try {
        await checkLog(request, memory)
      } catch {
        return undefined
      }
      return begin(memory, entry)
    },
  }
}

/** What was not requested lately is not kept. */
const unknown: Remembered = { response: undefined, release: () => undefined }

function newMemory(): TenantMemory {
  return {
    entries: new Map(),
    readings: new Set(),
    byId: new Map(),
    byModel: new Map(),
    bytes: 0,
    server: undefined,
    position: undefined,
    nextCheck: undefined,
  }
}

/** Adds an entry to the index by what it depends on. */
function addTo<Key>(index: Map<Key, Set<Entry>>, keys: Iterable<Key>, entry: Entry): void {
  for (const key of keys) index.set(key, (index.get(key) ?? new Set()).add(entry))
}

function removeFrom<Key>(index: Map<Key, Set<Entry>>, keys: Iterable<Key>, entry: Entry): void {
  for (const key of keys) {
    const ofKey = index.get(key)
    ofKey?.delete(entry)
    if (ofKey?.size === 0) index.delete(key)
  }
}

/** A response that has changed while it was read. */
function unkept({ data, length }: NewResponse): KeptResponse {
  return { text: JSON.stringify(data), length, find: () => undefined, add: () => undefined }
}

/** The memory of an entry whose response is not kept. */
function bytesWithoutResponse({ ids = [] }: Entry): number {
  return ids.reduce((sum, id) => sum + idBytes + bytesOf(id), entryBytes)
}

/** The memory of bytes, or of a text: V8 stores one byte for each character if none needs more. */
function bytesOf(part: string | Buffer): number {
  return Buffer.byteLength(part) === part.length ? part.length : 2 * part.length
}
