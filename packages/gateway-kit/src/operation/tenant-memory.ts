import type { Model } from '@fusion-gateway/prisma-trees'
import type { Metrics } from '@fusion-gateway/telemetry'
import type { Change, LogPosition } from '../change-log.ts'
import type { KeptResponse } from './written-result.ts'

/** The response to a query that may be kept. */
export interface Remembered {
  /** The response, if it is kept. Otherwise the query has to be executed. */
  readonly response: KeptResponse | undefined
  /** Keeps the response, if nothing has changed since. It was read from the primary. Absent for a first request. */
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

/** The bytes of an entry besides its texts, about: its key, its place in a map, and that of each of its ids. */
const entryBytes = 600
const idBytes = 200

/** What a response was read from. */
export interface Origin {
  readonly models: ReadonlySet<Model>
  /** The ids of the rows that it starts from; undefined: any row of the models concerns it. */
  readonly ids: readonly string[] | undefined
}

/** An operation and variables that were requested by viewers with the same rights. */
interface Entry extends Origin {
  readonly key: string
  derived: Map<string, readonly (string | Buffer)[]> | undefined
  requestedAt: number
  bytes: number
  kept: { readonly response: KeptResponse; readonly readAt: number } | undefined
}

/** What changes concern besides what is kept: a response that is being read, or a live query. */
export interface Reader extends Origin {
  /** Called when something that it is read from has changed, or can have changed. */
  outdate(): void
}

/** The room that the memories of all tenants share. */
export interface Room {
  /** The most bytes of an entry. */
  readonly maxOfEntry: number
  readonly metrics: Metrics['keptResponses']
  /** Notes that a memory takes more bytes, or fewer. */
  resize(difference: number): void
  /** Removes what was requested least recently, if there is too much, until the rest has room. */
  make(memory: TenantMemory): void
}

export class TenantMemory {
  readonly tenantAppId: string
  /** The least recently requested first. */
  readonly entries = new Map<string, Entry>()
  readonly readers = new Set<Reader>()
  /** The same, by what they start from, as the index of the entries. */
  readonly #readersBy = new Map<string, Set<Reader>>()
  /** How many of the readers stay. */
  followers = 0
  bytes = 0
  server: string | undefined
  position: LogPosition | undefined
  /** The check of the log that has not been sent yet. */
  nextCheck: Promise<void> | undefined
  /**
   * The entries with a response: by the ids of the rows that they start from, or else by the models of their rows. It
   * only finds candidates, because rows of two models can have one id, which can also be the name of a model.
   */
  readonly #index = new Map<string, Set<Entry>>()
  readonly #room: Room

  constructor(tenantAppId: string, room: Room) {
    this.tenantAppId = tenantAppId
    this.#room = room
  }

  /** The entry of a key that was requested lately. It is the most recent one now. */
  findRepeated(key: string): Entry | undefined {
    const entry = this.entries.get(key)
    if (!entry) return undefined
    const now = performance.now()
    if (now - entry.requestedAt > repeatMilliseconds) return void this.#remove(entry)
    entry.requestedAt = now
    this.entries.delete(key)
    this.entries.set(key, entry)
    return entry
  }

  /** Notes the first request. */
  add(key: string, origin: Origin): void {
    const requestedAt = performance.now()
    const entry: Entry = { key, ...origin, derived: undefined, requestedAt, bytes: 0, kept: undefined }
    this.entries.set(key, entry)
    this.#resize(entry, bytesWithoutResponse(entry))
    this.#room.make(this)
  }

  /** The response of an entry, if it is kept, or what keeps it when it has been read. */
  begin(entry: Entry): Remembered {
    const { kept, models, ids } = entry
    const { lookups } = this.#room.metrics
    if (kept && performance.now() - kept.readAt < maxAgeMilliseconds) {
      lookups.inc({ outcome: 'hit' })
      return { response: kept.response, release: () => undefined }
    }
    lookups.inc({ outcome: 'miss' })
    let isOutdated = false
    const reader: Reader = {
      models,
      ids,
      outdate() {
        isOutdated = true
      },
    }
    this.addReader(reader)
    return {
      response: undefined,
      keep: (response) => (isOutdated ? unkept(response) : this.#keep(entry, response)),
      release: () => this.removeReader(reader),
    }
  }

  #keep(entry: Entry, { data, length }: NewResponse): KeptResponse {
    const { maxOfEntry } = this.#room
    const text = JSON.stringify(data)
    const response: KeptResponse = {
      text,
      length,
      find: (name) => (entry.kept?.response === response ? (entry.derived?.get(name) as never) : undefined),
      add: (name, made) => {
        if (entry.kept?.response !== response || entry.derived?.has(name)) return
        const size = entry.bytes + [name, ...made].reduce((sum, part) => sum + idBytes + bytesOf(part), 0)
        if (size > maxOfEntry) return
        entry.derived ??= new Map()
        entry.derived.set(name, made)
        this.#resize(entry, size)
        this.#room.make(this)
      },
    }
    const size = bytesWithoutResponse(entry) + bytesOf(text)
    // The entry can have been removed meanwhile.
    if (size > maxOfEntry || this.entries.get(entry.key) !== entry) return response
    this.#forget(entry)
    entry.kept = { response, readAt: performance.now() }
    for (const key of indexKeys(entry)) this.#index.set(key, (this.#index.get(key) ?? new Set()).add(entry))
    this.#resize(entry, size)
    this.#room.make(this)
    return response
  }

  /** Forgets what changes concern. It visits only the responses that depend on the changed rows. */
  apply(changes: readonly Change[]): void {
    const changed = new Map<Model, Set<string>>()
    for (const { models, ids } of changes) {
      for (const model of models) {
        const idsOfModel = changed.get(model) ?? new Set()
        changed.set(model, idsOfModel)
        for (const id of ids) idsOfModel.add(id)
      }
    }
    const concerns = ({ models, ids }: Origin) =>
      [...models].some((model) => {
        const idsOfModel = changed.get(model)
        return idsOfModel !== undefined && (ids === undefined || ids.some((id) => idsOfModel.has(id)))
      })
    const forgetOutdated = (entries: Iterable<Entry> = []) => {
      for (const entry of [...entries]) {
        if (!concerns(entry)) continue
        this.#forget(entry)
        this.#room.metrics.invalidations.inc()
      }
    }
    for (const [model, ids] of changed) {
      for (const key of [model, ...ids]) {
        forgetOutdated(this.#index.get(key))
        for (const reader of this.#readersBy.get(key) ?? []) if (concerns(reader)) reader.outdate()
      }
    }
  }

  addReader(reader: Reader): void {
    this.readers.add(reader)
    for (const key of indexKeys(reader)) this.#readersBy.set(key, (this.#readersBy.get(key) ?? new Set()).add(reader))
  }

  /** Returns whether it was there. */
  removeReader(reader: Reader): boolean {
    for (const key of indexKeys(reader)) {
      const readers = this.#readersBy.get(key)
      readers?.delete(reader)
      if (readers?.size === 0) this.#readersBy.delete(key)
    }
    return this.readers.delete(reader)
  }

  forgetAll(): void {
    for (const entry of this.entries.values()) this.#forget(entry)
    for (const reader of this.readers) reader.outdate()
  }

  /** Removes what was requested least recently. */
  removeOldest(isTooMuch: () => boolean): void {
    for (const entry of this.entries.values()) {
      if (!isTooMuch()) return
      this.#remove(entry)
    }
  }

  /** Removes responses that would be read anew: they can have what was deleted meanwhile. */
  removeOutdated(): void {
    const before = performance.now() - maxAgeMilliseconds
    for (const entry of this.entries.values()) {
      if ((entry.kept?.readAt ?? entry.requestedAt) < before) this.#remove(entry)
    }
  }

  /** Forgets the response of an entry, and remembers that it was requested. */
  #forget(entry: Entry): void {
    if (!entry.kept) return
    entry.kept = undefined
    entry.derived = undefined
    for (const key of indexKeys(entry)) {
      const entries = this.#index.get(key)
      entries?.delete(entry)
      if (entries?.size === 0) this.#index.delete(key)
    }
    this.#resize(entry, bytesWithoutResponse(entry))
  }

  #remove(entry: Entry): void {
    this.#forget(entry)
    this.#resize(entry, 0)
    this.entries.delete(entry.key)
  }

  #resize(entry: Entry, size: number): void {
    this.bytes += size - entry.bytes
    this.#room.resize(size - entry.bytes)
    entry.bytes = size
  }
}

const indexKeys = ({ ids, models }: Origin): Iterable<string> => ids ?? models

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
