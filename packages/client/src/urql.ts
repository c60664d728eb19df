import {
  Client,
  type CombinedError,
  composeExchanges,
  type Exchange,
  fetchExchange,
  makeErrorResult,
  makeOperation,
  mapExchange,
  type Operation,
  type OperationResult,
  type RequestPolicy,
  stringifyDocument,
  stringifyVariables,
  subscriptionExchange,
} from '@urql/core'
import {
  type Cache,
  type CacheExchangeOpts,
  cacheExchange,
  type DataFields,
  type Entity,
  type FieldInfo,
  type ResolveInfo,
  type Resolver,
  type UpdateResolver,
  type Variables,
} from '@urql/exchange-graphcache'
import { relayPagination } from '@urql/exchange-graphcache/extras'
import {
  filter,
  fromArray,
  fromPromise,
  fromValue,
  makeSubject,
  map,
  merge,
  mergeMap,
  pipe,
  type Source,
  share,
  switchMap,
  tap,
} from 'wonka'
import type { ClientOptions } from './core.ts'
import { type Created, fieldsChangedBy, parentsChangedBy } from './created.ts'
import { deletedBy, withoutDeleted } from './deleted.ts'
import { createWithheld, errorsOf } from './errors.ts'
import * as schema from './generated.ts'
import { type Closable, connect, type Operation as Sent } from './library.ts'
import { personChanged } from './person.ts'
import { fieldOf, isLive, type Result, requestOf } from './request.ts'
import type { Sink } from './transport.ts'

export interface UrqlOptions extends Omit<ClientOptions, 'batch'> {
  /** Exchanges of your own, between the cache and those that send. */
  readonly exchanges?: readonly Exchange[]
  /** `cacheOptions` by default, or another cache. */
  readonly cache?: CacheExchangeOpts | Exchange
  /** `cache-first` by default. */
  readonly requestPolicy?: RequestPolicy
}

/**
 * Creates a client of urql. A field that is null because of an error is not kept in the cache: the next page that shows it asks again, and
 * gets the error again. A mutation with `{ action }` is executed once, however often it is sent with the same `action`:
 * `client.mutation(document, variables, { action })`.
 */
export function createUrqlClient(options: UrqlOptions): Client & Closable {
  const { exchanges = [], cache = cacheOptions, requestPolicy = 'cache-first', url, documents } = options
  const forgotten = makeSubject<void>()
  const connection = connect(options, {
    // After the cache has the result of the mutation: it takes that of a query which was sent before for an older one.
    add: (created) => queueMicrotask(() => void client.subscription(createdDocument, { created }).toPromise()),
    forget: () => forgotten.next(),
  })
  /** What ends the live queries that are followed. */
  const followed = new Map<number, () => void>()
  /** The queries and mutations that were sent. */
  const running = new Map<number, Sent>()
  const prepare = mapExchange({
    onOperation(operation) {
      const { kind, context, extensions, ...request } = operation
      running.get(request.key)?.end()
      if (kind === 'teardown') {
        running.delete(request.key)
        followed.delete(request.key)
        return undefined
      }
      const { fetchOptions, action } = context as typeof context & { readonly action?: string }
      const { headers, ...init } = (typeof fetchOptions === 'function' ? fetchOptions() : fetchOptions) ?? {}
      const sent = connection.begin(isFollowed(operation) ? 'subscription' : kind, action, () =>
        requestOf(request.query, request.variables ?? {}, documents, stringifyDocument),
      )
      running.set(request.key, sent)
      const { documentId } = documents === 'persisted' ? requestOf(request.query, {}, documents) : {}
      const persisted = documentId !== undefined && { persistedQuery: { version: 1 as const, sha256Hash: documentId } }
      return makeOperation(
        kind,
        { ...request, extensions: { ...extensions, ...persisted } },
        {
          ...context,
          fetchOptions: { ...init, headers: { ...Object.fromEntries(new Headers(headers)), ...sent.headers } },
        },
      )
    },
    onResult(result) {
      const sent = running.get(result.operation.key)
      const whole = sent?.complete(result as Result)
      return whole instanceof Promise
        ? whole.then(({ data }) => receive({ ...result, data }, sent))
        : receive(result, sent)
    },
  })
  /** Passes a result on to the cache. */
  function receive(result: OperationResult, sent: Sent | undefined): OperationResult {
    const { operation, data, extensions } = result
    if (running.get(operation.key) === sent) running.delete(operation.key)
    sent?.read({ data, extensions } as Result)
    sent?.end()
    const left = withoutDeleted(data, sent?.deleted ?? [])
    if (left === data) return result
    // What counts the objects is read again.
    const { kind, context } = operation
    queueMicrotask(() =>
      client.reexecuteOperation(makeOperation(kind, operation, { ...context, requestPolicy: 'network-only' })),
    )
    return { ...result, data: left }
  }
  const send = subscriptionExchange({
    isSubscriptionOperation: isFollowed,
    forwardSubscription: (_, { kind, key, query, variables }) => ({
      subscribe(sink) {
        const request = requestOf(query, variables ?? {}, documents, stringifyDocument)
        if (kind !== 'query') return { unsubscribe: connection.subscribe(request, sink as never) }
        let before = {}
        const next: Sink['next'] = (result) => {
          sink.next({ ...before, ...result } as never)
          // The errors of a result are not those of the next one.
          before = { errors: [] }
        }
        const stop = connection.live(request, { ...(sink as Sink), next })
        // The cache asks again for what it lacks.
        followed.get(key)?.()
        followed.set(key, stop)
        return { unsubscribe: stop }
      },
    }),
  })
  const client: Client = new Client({
    url,
    fetch: connection.fetch,
    preferGetMethod: false,
    requestPolicy,
    exchanges: [
      eachPerson(forgotten.source, [
        typeof cache === 'function' ? cache : cacheExchange(cache),
        answerCreated,
        ...exchanges,
        prepare,
        send,
        fetchExchange,
      ]),
    ],
  })
  // A key is the hash of a document and its variables. The cache takes the result of a mutation for that of the last one with the same
  // key, so a click would wait for ever if another one follows before it is answered. Hashes are positive.
  const createRequestOperation = client.createRequestOperation.bind(client)
  client.createRequestOperation = (kind, request, context) => {
    const created = createRequestOperation(kind, request, context)
    const isCached = isFollowed(created) && created.context.requestPolicy === 'cache-first'
    return isCached ? makeOperation(kind, created, { ...created.context, requestPolicy: 'cache-and-network' }) : created
  }
  const executeMutation = client.executeMutation.bind(client)
  let key = 0
  client.executeMutation = (request, context) => {
    key -= 1
    return executeMutation({ ...request, key }, context)
  }
  return Object.assign(client, { close: connection.close })
}

/** A live query is followed as a subscription is. */
const isFollowed = ({ kind, query }: Operation) => kind === 'subscription' || (kind === 'query' && isLive(query))

/** Sends with new exchanges, whose cache is empty, when the person has changed. */
function eachPerson(forgotten: Source<void>, exchanges: Exchange[]): Exchange {
  const all = composeExchanges(exchanges)
  return ({ client, dispatchDebug }) => {
    return (operations) => {
      const active = new Map<number, Operation>()
      const shared = pipe(
        operations,
        tap((operation) => {
          if (operation.kind === 'teardown') active.delete(operation.key)
          else active.set(operation.key, operation)
        }),
        share,
      )
      const begin = (left: readonly Operation[]): Source<OperationResult> => {
        // The pages show nothing until they have the results of the new person.
        const emptied = left.flatMap((operation): OperationResult[] => {
          if (operation.kind === 'mutation') return [makeErrorResult(operation, personChanged())]
          return operation.kind === 'query' ? [{ operation, data: undefined, stale: true, hasNext: true }] : []
        })
        // Exchanges split their operations, and all parts must be there first.
        const again = pipe(
          fromPromise(Promise.resolve()),
          mergeMap(() => fromArray(left.filter(({ key, kind }) => kind !== 'mutation' && active.has(key)))),
        )
        for (const { key, kind } of left) if (kind === 'mutation') active.delete(key)
        const send = all({
          client,
          dispatchDebug,
          forward: (rest) =>
            pipe(
              rest,
              filter(() => false),
            ) as never,
        })
        return merge([fromArray(emptied), send(merge([shared, again]))])
      }
      return pipe(
        merge([fromValue(undefined), forgotten]),
        switchMap(() => begin([...active.values()])),
        tap(({ operation: { key, kind } }) => {
          if (kind === 'mutation') active.delete(key)
        }),
      )
    }
  }
}

/**
 * Tells a field that was withheld from an unknown value: both are null.
 *
 * @param error of a result
 * @param path without positions: `users.edges.node.email`
 * @returns the code of the error, such as FORBIDDEN or SERVICE_UNAVAILABLE, or undefined
 */
export const withheld = (error: CombinedError | undefined, path: string): string | undefined =>
  createWithheld(errorsOf(error))(path)

/**
 * Joins the pages of a list. `relayPagination` finds no list without arguments, skips an empty page, even if it is the end, and joins pages
 * between which rows are missing.
 */
const joinPages = (): Resolver => {
  const join = relayPagination()
  return (parent, args, cache, info) => {
    const page = cache.resolve(info.parentKey, info.parentFieldKey) as string | null
    const end = cache.resolve(page, 'pageInfo') as string | null
    const chained = chainOf(cache, info, args)
    const inspectFields = (entity: Entity) => cache.inspectFields(entity).filter((field) => chained.has(field.fieldKey))
    const pages: Cache = Object.assign(Object.create(cache), { inspectFields })
    const joined = join(parent, args, pages, info) as { readonly pageInfo: object } | undefined
    if (!joined) return page as DataFields | null
    const { pageInfo, ...rows } = joined
    // A query that selects it then reads the list again.
    if (!end && !args['after']) return rows as DataFields
    const isEnd = args['after'] && chained.has(info.parentFieldKey) && cache.resolve(end, 'hasNextPage') === false
    return { ...rows, pageInfo: { ...pageInfo, ...(isEnd && { hasNextPage: false }) } } as DataFields
  }
}

/** Names the list of a page. */
const listOf = ({ fieldName, arguments: args }: Pick<FieldInfo, 'fieldName' | 'arguments'>) =>
  stringifyVariables({ ...args, fieldName, first: null, last: null, after: null, before: null })

/** The ids of the objects of a page, by its edges or its nodes. */
function rowsOf(cache: Cache, page: string): string[] {
  const edges = (cache.resolve(page, 'edges') ?? []) as string[]
  const nodes = (cache.resolve(page, 'nodes') ?? []) as string[]
  return nodes.length > 0 ? nodes : edges.map((edge) => String(cache.resolve(edge, 'node')))
}

/**
 * The pages of a list that follow each other: each begins at the cursor at which another one ends, or continues the rows of those before it.
 * When the first page was read again after something was inserted, the rows between it and the next one are unknown. The cursors of a page
 * from which something was deleted are unknown until it is read again.
 */
function chainOf(cache: Cache, { parentKey, fieldName }: ResolveInfo, args: Variables): ReadonlySet<string> {
  const list = listOf({ fieldName, arguments: args })
  const pages = cache.inspectFields(parentKey).flatMap((field) => {
    const page = cache.resolve(parentKey, field.fieldKey)
    if (field.fieldName !== fieldName || listOf(field) !== list || typeof page !== 'string') return []
    const { after = null, before = null } = field.arguments ?? {}
    const cursorOf = (name: string) => cache.resolve(cache.resolve(page, 'pageInfo') as string | null, name)
    const ids = rowsOf(cache, page)
    return [{ key: field.fieldKey, after, before, start: cursorOf('startCursor'), end: cursorOf('endCursor'), ids }]
  })
  const firsts = pages.filter(({ after, before }) => after === null && before === null)
  // Without the first one, they are what is left of the list.
  if (firsts.length === 0) return new Set(pages.map(({ key }) => key))
  const chained = new Set(firsts)
  let rows = firsts.flatMap(({ ids }) => ids)
  const areKnown = (ids: readonly string[]) => ids.length > 0 && ids.every((id) => rows.includes(id))
  for (let size = 0; size < chained.size; ) {
    size = chained.size
    for (const page of pages) {
      if (chained.has(page)) continue
      const { after, before, ids } = page
      const continues =
        after === null
          ? [...chained].some(({ start }) => start == null || start === before) ||
            areKnown(ids.slice(ids.indexOf(rows[0] ?? '')))
          : [...chained].some(({ end }) => end == null || end === after) ||
            areKnown(ids.slice(0, ids.indexOf(rows.at(-1) ?? '') + 1))
      if (!continues) continue
      chained.add(page)
      rows = after === null ? [...new Set([...ids, ...rows])] : [...new Set([...rows, ...ids])]
    }
  }
  return new Set([...chained].map(({ key }) => key))
}

/** An object of a list is in the cache already. */
const readById = Object.fromEntries(
  (schema.possibleTypes['Node'] ?? []).map((__typename): [string, Resolver] => [
    fieldOf(__typename),
    (_, { id }, cache, { parentKey, parentFieldKey }) => {
      const known = cache.resolve(parentKey, parentFieldKey) as DataFields | undefined
      return known === undefined && id ? cache.keyOfEntity({ __typename, id: String(id) }) : known
    },
  ]),
)

/** Removes what a mutation or an event deletes from the cache, with the lists and numbers that counted it. Pages read these again. */
const forget: UpdateResolver = (result, _, cache) => {
  const { userId } = (result['events'] ?? {}) as { readonly userId?: string | null }
  const deleted = deletedBy(result).map((object) => cache.keyOfEntity({ ...object }))
  const owners = deleted.map((key) => cache.resolve(key, 'user') as string | null | undefined)
  if (userId) owners.push(cache.keyOfEntity({ __typename: 'User', id: userId }))
  for (const owner of new Set(owners))
    if (owner) recount(cache, owner, Object.keys(schema.pagedLists['User'] ?? {}), deleted)
  if (deleted.length > 0) recount(cache, 'Query', schema.countedFields, deleted)
  for (const key of deleted) cache.invalidate(key)
}

/** A field that no gateway has. A cache takes it for an event, and its update sees what was created. */
const createdField = 'fusionCreated'
const createdDocument = `subscription FusionCreated($created: [Created!]) { ${createdField}(created: $created) }`

/** Answers `createdDocument`, which is not sent. */
const answerCreated: Exchange =
  ({ forward }) =>
  (operations) => {
    const shared = pipe(operations, share)
    const isOwn = ({ kind, query }: Operation) =>
      kind === 'subscription' && stringifyDocument(query).includes(createdField)
    return merge([
      pipe(
        shared,
        filter(isOwn),
        map((operation) => ({ operation, data: { [createdField]: true }, stale: false, hasNext: false })),
      ),
      pipe(
        shared,
        filter((operation) => !isOwn(operation)),
        forward,
      ),
    ])
  }

/** Lets pages read again what may have objects that were created. */
const recollect: UpdateResolver<DataFields, { created: readonly Created[] }> = (_, { created }, cache) => {
  recount(cache, 'Query', fieldsChangedBy(created, 'Query'))
  for (const each of created) {
    const user = each.userId && cache.keyOfEntity({ __typename: 'User', id: each.userId })
    for (const parent of parentsChangedBy(each)) {
      const names = fieldsChangedBy([each], parent)
      if (!user) cache.invalidate(parent)
      else for (const key of parent === 'User' ? [user] : rowsWithin(cache, user)) recount(cache, key, names)
    }
  }
}

/** The objects in the lists of a user. */
const rowsWithin = (cache: Cache, user: string): string[] =>
  cache.inspectFields(user).flatMap(({ fieldKey }) => {
    const list = cache.resolve(user, fieldKey)
    if (Array.isArray(list)) return list.map(String)
    return typeof list === 'string' ? rowsOf(cache, list) : []
  })

/**
 * Lets pages read lists and numbers again. Of a list with several pages only one would be read: they are kept, without
 * what was deleted.
 *
 * @param deleted undefined: something was created, and the first page will be read with the later ones
 */
function recount(cache: Cache, entity: string, names: readonly string[], deleted?: readonly (string | null)[]): void {
  const fields = cache.inspectFields(entity).filter(({ fieldName }) => names.includes(fieldName))
  const isObject = (key: unknown) =>
    typeof key === 'string' && schema.possibleTypes['Node']?.includes(String(cache.resolve(key, '__typename')))
  const isNext = ({ arguments: args }: FieldInfo) => Boolean(args?.['after'] ?? args?.['before'])
  const grown = new Set(fields.filter(isNext).map(listOf))
  for (const field of fields) {
    const page = cache.resolve(entity, field.fieldKey)
    // It has an object already.
    if (isObject(page)) continue
    if (!deleted && isNext(field)) {
      // What was created may be among its rows, which are read with the first page.
      cache.invalidate(entity, field.fieldName, field.arguments)
      continue
    }
    const isGrown = grown.has(listOf(field))
    const canGrow = typeof page === 'string' && (isGrown || cache.resolve(page, 'pageInfo'))
    const isKept = canGrow && removeRows(cache, page, deleted ?? [])
    if (!isKept) cache.invalidate(entity, field.fieldName, field.arguments)
    // It is read again. The next page, if it was asked for meanwhile, is joined to what is left.
    else if (!isGrown || !deleted) cache.invalidate(page, 'pageInfo')
  }
}

/** Removes objects from a page of a list. Returns whether others are left: an empty page has no place in its list. */
function removeRows(cache: Cache, page: string, deleted: readonly (string | null)[]): boolean {
  const keysOf = (name: string) => (cache.resolve(page, name) ?? []) as string[]
  const left = {
    edges: keysOf('edges').filter((edge) => !deleted.includes(cache.resolve(edge, 'node') as string)),
    nodes: keysOf('nodes').filter((node) => !deleted.includes(node)),
  }
  for (const name of ['edges', 'nodes'] as const) if (cache.resolve(page, name)) cache.link(page, name, left[name])
  for (const name of ['totalCount', 'totalCountEstimate']) cache.invalidate(page, name)
  return left.edges.length + left.nodes.length > 0
}

/** The options of the cache, for an exchange of your own: `cacheExchange({ ...cacheOptions, … })`. */
export const cacheOptions: CacheExchangeOpts = {
  possibleTypes: schema.possibleTypes,
  keys: Object.fromEntries(
    [...schema.parts, ...schema.singletons, ...schema.statistics].map((type) => [type, () => null]),
  ),
  resolvers: Object.fromEntries(
    Object.entries(schema.pagedLists).map(([type, lists]) => [
      type,
      {
        ...(type === 'Query' && readById),
        ...Object.fromEntries(Object.keys(lists).map((name) => [name, joinPages()])),
      },
    ]),
  ),
  updates: {
    Mutation: Object.fromEntries([
      ...schema.deletingMutations.map((name) => [name, forget] as const),
      // Without an update, the cache would forget all objects of the type.
      ...Object.keys(schema.creatingMutations).map((name) => [name, () => {}] as const),
    ]),
    Subscription: { events: forget, [createdField]: recollect },
  },
}
