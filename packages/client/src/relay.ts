import {
  ConnectionHandler,
  DefaultHandlerProvider,
  Environment,
  type EnvironmentConfig,
  getRequestIdentifier,
  type MissingFieldHandler,
  Network,
  Observable,
  type OperationDescriptor,
  RecordSource,
  type RequestParameters,
  ROOT_ID,
  ROOT_TYPE,
  Store,
} from 'relay-runtime'
import type { ClientOptions } from './core.ts'
import { type Created, fieldsChangedBy, nestedChangedBy } from './created.ts'
import type { Deleted } from './deleted.ts'
import { possibleTypes } from './generated.ts'
import { type Closable, connect, type OperationKind, rowsAfter } from './library.ts'
import { fieldOf, type GraphQLRequest, isLive, type Result } from './request.ts'

/** The options of all clients, and those of Relay's environment besides its network and store. */
export type RelayOptions = Omit<ClientOptions, 'batch'> &
  Partial<Omit<EnvironmentConfig, 'network' | 'store' | 'options'>>

/**
 * Creates an environment of Relay. It sends the ids of documents that the compiler has persisted, and the texts of others. Errors of fields
 * are kept with them: `@catch` reads them, also when a page shows the fields again. A mutation with `cacheConfig: { metadata: { action } }`
 * is executed once, however often it is sent with the same `action`. A query with `@live` is followed while the store retains it, if it
 * has its text, or `networkCacheConfig: { metadata: { live: true } }`.
 */
export function createRelayEnvironment(options: RelayOptions): Environment & Closable {
  const { url, documents, missingFieldHandlers, handlerProvider, ...config } = options
  const getDataID = config.getDataID ?? dataIdOf
  const recordOf = ({ __typename, id }: Deleted) => String(getDataID({ id }, __typename))
  const connection = connect(options, {
    remove: (deleted) => removeDeleted(environment, store, deleted.map(recordOf)),
    add(created) {
      environment.commitUpdate((proxy) => (proxy as unknown as Invalidating).invalidateStore())
      readShown(environment, store, created)
    },
    forget: () => forgetAll(environment, store),
  })
  const store = new ActiveStore(new RecordSource())

  const requestFor = ({ id, text, name }: RequestParameters, variables: object): GraphQLRequest => {
    if (id === null && documents === 'persisted')
      throw new Error(`The compiler has not persisted the document ${name}.`)
    return { ...(id === null ? { query: String(text) } : { documentId: id }), variables: { ...variables } }
  }
  const network = Network.create(
    (params, variables, { metadata }) =>
      Observable.create((sink) => {
        const kind = params.operationKind as OperationKind
        const request = requestFor(params, variables)
        // Of a document that is sent by its id the text is unknown.
        if (kind === 'query' && isLive(metadata?.['live'] === true ? '@live' : String(params.text))) {
          const stop = connection.live(request, sink as never)
          store.untilHidden(getRequestIdentifier(params, variables), () => sink.complete())
          return stop
        }
        const sent = connection.begin(kind, metadata?.['action'] as string | undefined, () => request)
        const aborted = new AbortController()
        connection
          .fetch(url, {
            method: 'POST',
            headers: { 'content-type': 'application/json', ...sent.headers },
            body: JSON.stringify(request),
            signal: aborted.signal,
          })
          .then(async (response) => sent.complete((await response.json()) as Result))
          .then((result) => {
            sink.next(result as never)
            // Now the store has the data.
            if (hasFailed(result))
              environment.commitUpdate((proxy) => (proxy as unknown as Invalidating).invalidateStore())
            sent.read(result)
            sink.complete()
          })
          .catch((error: Error) => sink.error(error))
        return () => {
          sent.end()
          aborted.abort()
        }
      }),
    (params, variables) =>
      Observable.create((sink) => connection.subscribe(requestFor(params, variables), sink as never)),
  )
  const environment: Environment = new Environment({
    ...config,
    getDataID,
    network,
    store,
    handlerProvider: (name) =>
      name === 'connection' ? keepPages(store) : (handlerProvider ?? DefaultHandlerProvider)(name),
    missingFieldHandlers: [...(missingFieldHandlers ?? []), readById(recordOf)],
  })
  return Object.assign(environment, { close: connection.close })
}

/** Objects of different types can have the same id. */
const dataIdOf: NonNullable<EnvironmentConfig['getDataID']> = ({ id }, type) =>
  id == null ? undefined : `${type}:${id}`

/** An object of a list is in the store already. `node` may be an object of each type: it is read if several have the id. */
const readById = (recordOf: (object: Deleted) => string): MissingFieldHandler => ({
  kind: 'linked',
  handle(field, record, { id }, records) {
    if (record?.getType() !== ROOT_TYPE) return undefined
    const types = (possibleTypes['Node'] ?? []).filter((type) => field.name === 'node' || field.name === fieldOf(type))
    const known = types.map((__typename) => recordOf({ __typename, id })).filter((dataId) => records.get(dataId))
    return known.length === 1 ? known[0] : undefined
  },
})

/** A field failed, and is null: the next page that shows it asks again. A field that the token may not read would fail again. */
const hasFailed = ({ data, errors = [] }: Result): boolean =>
  Boolean(data) && errors.some(({ extensions }) => extensions?.code !== 'FORBIDDEN')

interface Invalidating {
  invalidateStore(): void
}

/** A store that knows the queries of the pages that are shown. */
class ActiveStore extends Store {
  readonly active = new Set<{ readonly operation: OperationDescriptor }>()
  /** Those that are read again. What is deleted meanwhile is removed from their results, and reads them once more. */
  readonly reading = new Set<string>()
  /** Those of them that are read with their later pages, because something was created. */
  readonly growing = new Set<string>()

  /** What ends the live queries that are followed. Hooks leave queries that have had a result to the store. */
  readonly live = new Map<string, () => void>()

  override retain(operation: OperationDescriptor) {
    const { dispose } = super.retain(operation)
    const entry = { operation }
    this.active.add(entry)
    return {
      dispose: () => {
        this.active.delete(entry)
        dispose()
        const { identifier } = operation.request
        if ([...this.active].some((other) => other.operation.request.identifier === identifier)) return
        this.live.get(identifier)?.()
        this.live.delete(identifier)
      },
    }
  }

  /** Ends a live query when no page shows it any more, or when it is read again. */
  untilHidden(identifier: string, end: () => void): void {
    this.live.get(identifier)?.()
    this.live.set(identifier, end)
  }
}

/** Where a list ended before it was read again. */
const formerEnd = '__formerEnd'

/** Updates connections as Relay does, but keeps the later pages when the first one is read again because of a deletion. */
const keepPages = ({ reading, growing }: ActiveStore): ReturnType<typeof DefaultHandlerProvider> => ({
  update(proxy, payload) {
    const connectionOf = () => proxy.get(payload.dataID)?.getLinkedRecord(payload.handleKey)
    const known = connectionOf()
    const edges = known?.getLinkedRecords('edges') ?? []
    const endOf = (connection = known) => connection?.getLinkedRecord('pageInfo')
    const [endCursor, hasNextPage] = [endOf()?.getValue('endCursor'), endOf()?.getValue('hasNextPage')]
    const { after, before } = payload.args
    // This page was asked for before the list was read again. Relay leaves out the rows that both have.
    if (after && after === known?.getValue(formerEnd)) endOf()?.setValue(after, 'endCursor')
    ConnectionHandler.update(proxy, payload)
    const connection = connectionOf()
    if (!connection || reading.size === 0 || growing.size > 0 || after || before) return
    const idOf = (edge: (typeof edges)[number]) => edge?.getLinkedRecord('node')?.getDataID()
    const page = connection.getLinkedRecords('edges') ?? []
    const end = endOf(connection)
    const later = rowsAfter(edges, page, idOf)
    if (later.length > 0) {
      connection.setLinkedRecords([...page, ...later], 'edges')
      end?.setValue(endCursor, 'endCursor').setValue(hasNextPage, 'hasNextPage')
    } else if (end?.getValue('endCursor') !== endCursor) {
      const ids = new Set(page.map(idOf))
      if (edges.every((edge) => ids.has(idOf(edge)))) connection.setValue(endCursor, formerEnd)
    }
  },
})

type StoredRecord = Readonly<
  Record<string, { readonly __ref?: string; readonly __refs?: readonly string[] } | undefined>
>

/** Removes objects from all lists, and reads the queries that are shown again. Others are read again when they are shown. */
function removeDeleted(environment: Environment, store: ActiveStore, deleted: readonly string[]): void {
  const ids = new Set(deleted)
  environment.commitUpdate((proxy) => {
    const source = store.getSource()
    const records = source.getRecordIDs().map((id) => [id, (source.get(id) ?? {}) as unknown as StoredRecord] as const)
    const edges = records.filter(([, { node }]) => node?.__ref !== undefined && ids.has(node.__ref)).map(([id]) => id)
    const removed = new Set([...ids, ...edges])
    for (const [id, record] of records) {
      for (const [key, value] of Object.entries(record)) {
        if (!value?.__refs?.some((ref) => removed.has(ref))) continue
        const kept = value.__refs.filter((ref) => !removed.has(ref)).map((ref) => proxy.get(ref) ?? null)
        proxy.get(id)?.setLinkedRecords(kept, key)
      }
    }
    for (const id of ids) proxy.delete(id)
    ;(proxy as unknown as Invalidating).invalidateStore()
  })
  readShown(environment, store)
}

/** Empties the store, and reads the queries that are shown again. */
function forgetAll(environment: Environment, store: ActiveStore): void {
  environment.commitUpdate((proxy) => {
    const source = store.getSource()
    const root = proxy.getRoot()
    for (const key of Object.keys(source.get(ROOT_ID) ?? {})) {
      // The names of these begin with two underscores. The others are missing then.
      if (!/^__(id|typename)$/.test(key)) root.setValue(undefined, key)
    }
    for (const id of source.getRecordIDs()) if (id !== ROOT_ID) proxy.delete(id)
    ;(proxy as unknown as Invalidating).invalidateStore()
  })
  store.reading.clear()
  store.growing.clear()
  readShown(environment, store)
}

/** @param created reads only the queries that may have these objects */
function readShown(environment: Environment, store: ActiveStore, created?: readonly Created[]): void {
  const isConcerned = (selections: readonly Selection[]) =>
    !created ||
    selections.some(
      ({ name = '', selections: inner }) =>
        fieldsChangedBy(created, 'Query').includes(name) || hasField(inner ?? [], nestedChangedBy(created)),
    )
  for (const { operation } of store.active) {
    const { identifier, node } = operation.request
    if (store.reading.has(identifier) || store.live.has(identifier)) continue
    if (!isConcerned(node.operation.selections as readonly Selection[])) continue
    store.reading.add(identifier)
    if (created) store.growing.add(identifier)
    const done = () => {
      store.reading.delete(identifier)
      store.growing.delete(identifier)
    }
    environment.execute({ operation }).subscribe({ complete: done, error: done, unsubscribe: done })
  }
}

/** What the compiler writes for a field, or for what is around fields. */
interface Selection {
  readonly name?: string
  readonly selections?: readonly Selection[] | null
}

const hasField = (selections: readonly Selection[], names: readonly string[]): boolean =>
  selections.some(({ name = '', selections: inner }) => names.includes(name) || hasField(inner ?? [], names))
