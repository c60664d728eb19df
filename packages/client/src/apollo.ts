import type { Modifier } from '@apollo/client/cache'
import {
  type ApolloCache,
  ApolloClient,
  ApolloLink,
  type FieldPolicy,
  gql,
  HttpLink,
  InMemoryCache,
  type InMemoryCacheConfig,
  type NormalizedCacheObject,
  Observable,
  type Reference,
  type StoreObject,
  type TypePolicies,
} from '@apollo/client/core'
import { BatchHttpLink } from '@apollo/client/link/batch-http'
import { relayStylePagination } from '@apollo/client/utilities'
import { print, visit } from 'graphql'
import { concatMap, finalize } from 'rxjs'
import type { ClientOptions } from './core.ts'
import { type Created, fieldsChangedBy } from './created.ts'
import type { Deleted } from './deleted.ts'
import type { FieldError } from './errors.ts'
import * as schema from './generated.ts'
import { type Closable, type Connection, connect, type OperationKind, rowsAfter } from './library.ts'
import { fieldOf, isLive, type Result, requestOf } from './request.ts'

declare module '@apollo/client' {
  namespace ApolloClient {
    namespace DeclareDefaultOptions {
      interface WatchQuery extends PartialData {}
      interface Query extends PartialData {}
      interface Mutate extends PartialData {}
    }
  }
}

/** Optional, because an application can have another client. */
interface PartialData {
  errorPolicy?: 'none' | 'all'
}

export interface ApolloLinkOptions extends ClientOptions {
  /** The cache of the client, from which the link removes what was deleted: `new InMemoryCache(cacheOptions)`. */
  readonly cache: ApolloCache
  /** Links of your own, before those that send. */
  readonly links?: readonly ApolloLink[]
}

export interface ApolloOptions extends Omit<ApolloLinkOptions, 'cache'> {
  /** `new InMemoryCache(cacheOptions)` by default. */
  readonly cache?: ApolloCache
  /** Whether a server renders pages with it. */
  readonly ssrMode?: boolean
  /** Added to those of the package: `{ watchQuery: { fetchPolicy: 'cache-and-network' } }`. */
  readonly defaultOptions?: ApolloClient.DefaultOptions
  readonly devtools?: ApolloClient.DevtoolsOptions
}

/** The options of a client of your own: partial data is shown with its errors. */
export const defaultOptions = {
  watchQuery: { errorPolicy: 'all' },
  query: { errorPolicy: 'all' },
  mutate: { errorPolicy: 'all' },
} as const satisfies ApolloClient.DefaultOptions

/**
 * Creates an Apollo Client. Partial data is shown with its errors (`errorPolicy: 'all'`), and `withheld` says which fields the token may
 * not read. A mutation with `context: { action }` is executed once, however often it is sent with the same `action`.
 */
export function createApolloClient(options: ApolloOptions): ApolloClient {
  const { cache = new InMemoryCache(cacheOptions), ssrMode = false, defaultOptions: given = {}, devtools } = options
  let persons = 0
  const link = createApolloLink({
    ...options,
    cache,
    onPersonChange() {
      persons += 1
      options.onPersonChange?.()
    },
  })
  const client: ApolloClient = new ApolloClient({
    link,
    cache,
    ssrMode,
    ...(devtools && { devtools }),
    defaultOptions: {
      watchQuery: { ...defaultOptions.watchQuery, ...given.watchQuery },
      query: { ...defaultOptions.query, ...given.query },
      mutate: { ...defaultOptions.mutate, ...given.mutate },
    },
  })
  // There is no default option for subscriptions.
  const subscribe = client.subscribe.bind(client)
  client.subscribe = (given) => subscribe({ ...given, errorPolicy: given.errorPolicy ?? 'all' })
  // `resetStore` ends queries that are not shown, as if they had failed.
  const query = client.query.bind(client)
  client.query = async (given: Parameters<typeof query>[0]) => {
    for (;;) {
      const asked = persons
      try {
        // A promise has one result.
        return await query(isLive(given.query) ? { ...given, context: { ...given.context, [once]: true } } : given)
      } catch (error) {
        if (asked === persons) throw error
      }
    }
  }
  client.watchQuery = watchLive(client.watchQuery.bind(client))
  const stop = client.stop.bind(client)
  client.stop = () => {
    stop()
    link.close()
  }
  return client
}

/** In the context of a live query that is read once. */
const once = 'fusionOnce'

/** Follows live queries also if the cache has their data. */
const watchLive = (watchQuery: ApolloClient['watchQuery']): ApolloClient['watchQuery'] =>
  ((given: ApolloClient.WatchQueryOptions) => {
    if (!isLive(given.query)) return watchQuery(given)
    const watched = watchQuery({
      ...given,
      ...((given.fetchPolicy ?? 'cache-first') === 'cache-first' && { fetchPolicy: 'cache-and-network' as const }),
      // It would keep all results.
      context: { ...given.context, queryDeduplication: false },
    })
    const { fetchMore, refetch, setVariables } = watched
    const readOnce = <Returned>(read: () => Returned): Returned => {
      const { context = {} } = watched.options
      watched.options.context = { ...context, [once]: true }
      try {
        return read()
      } finally {
        watched.options.context = context
      }
    }
    return Object.assign(watched, {
      fetchMore: (options: Parameters<typeof fetchMore>[0]) => readOnce(() => fetchMore.call(watched, options)),
      refetch(variables?: object) {
        // It follows the query with other variables.
        if (variables) void setVariables.call(watched, { ...watched.variables, ...variables })
        return readOnce(() => refetch.call(watched))
      },
    })
  }) as ApolloClient['watchQuery']

/**
 * Creates the link of a client of your own, such as that of a framework: `new ApolloClient({ link, cache,
 * defaultOptions })`. It does what that of `createApolloClient` does. A `client.query` that runs while the person
 * changes fails, and a subscription shows partial data with `errorPolicy: 'all'`.
 */
export function createApolloLink(options: ApolloLinkOptions): ApolloLink & Closable {
  const { links = [], cache, url, documents, batch = false } = options
  let client: ApolloClient | undefined
  const connection = connect(options, {
    remove: (deleted) => evict(cache, deleted, []),
    add: (created) => evict(cache, [], created),
    // Queries that fail say so to their pages.
    forget: () => void (client?.resetStore() ?? cache.reset()).catch(() => {}),
  })
  const remember = new ApolloLink((operation, forward) => {
    client = operation.client
    return forward(operation)
  })
  const prepare = new ApolloLink((operation, forward) => {
    if (documents === 'persisted') {
      const { documentId } = requestOf(operation.query, {}, documents)
      operation.extensions['persistedQuery'] = { version: 1, sha256Hash: documentId }
      operation.setContext({ http: { includeQuery: false, includeExtensions: true } })
    }
    return forward(operation)
  })
  const subscriptions = new ApolloLink(
    ({ query, variables, operationType }) =>
      new Observable((observer) =>
        connection[String(operationType) === 'query' ? 'live' : 'subscribe'](
          requestOf(query, variables, documents, print),
          observer as never,
        ),
      ),
  )
  const http = { uri: url, fetch: connection.fetch }
  const send = ApolloLink.split(
    // A batch has one idempotency key, so mutations are sent alone.
    (operation) => batch && kindOf(operation) === 'query',
    new BatchHttpLink({ ...http, batchMax: 10 }),
    new HttpLink(http),
  )
  const link = ApolloLink.from([
    remember,
    ...links,
    createCacheLink(cache, connection, documents),
    ApolloLink.split((operation) => kindOf(operation) === 'subscription', subscriptions, prepare.concat(send)),
  ])
  return Object.assign(link, { close: connection.close })
}

/** A live query is followed as a subscription is. */
const kindOf = ({ operationType, query, getContext }: ApolloLink.Operation): OperationKind =>
  isLive(query) && !getContext()[once] ? 'subscription' : (operationType as OperationKind)

/** Objects that have an id, and the field of Query that reads each. */
const readById = Object.fromEntries(
  (schema.possibleTypes['Node'] ?? []).map((__typename): [string, FieldPolicy] => [
    fieldOf(__typename),
    {
      // An object of a list is in the cache already.
      read: (known, { args, toReference }) =>
        known === undefined && args?.['id'] ? toReference({ __typename, id: String(args['id']) }) : known,
    },
  ]),
)

const policiesOf = <Name extends string>(names: readonly Name[], policy: TypePolicies[string]): TypePolicies =>
  Object.fromEntries(names.map((name) => [name, policy]))

/** The options of the cache, for a cache of your own: `new InMemoryCache({ ...cacheOptions, … })`. */
export const cacheOptions: InMemoryCacheConfig = {
  possibleTypes: schema.possibleTypes,
  typePolicies: {
    ...policiesOf(schema.singletons, { keyFields: [] }),
    ...policiesOf(schema.statistics, { merge: true }),
    ...policiesOf(schema.parts, { merge: false }),
    ...Object.fromEntries(
      [...new Set([...Object.keys(schema.pagedLists), ...Object.keys(schema.replacedLists)])].map((type) => [
        type,
        {
          fields: {
            ...(type === 'Query' && readById),
            ...Object.fromEntries((schema.replacedLists[type] ?? []).map((name) => [name, { merge: false }])),
            ...Object.fromEntries(
              Object.entries(schema.pagedLists[type] ?? {}).map(([name, keys]) => [name, joinPages(keys)]),
            ),
          },
        },
      ]),
    ),
  },
}

/** A list as the cache stores it. */
interface List {
  readonly edges: readonly StoreObject[]
  readonly nodes?: readonly Reference[]
  readonly pageInfo?: object
  /** Something was deleted or created, so the first page is read again. */
  readonly isStale?: boolean
  /**
   * What keeps its later pages after a deletion. A query reads edges or nodes, so each is kept for the query that reads
   * it.
   */
  readonly kept?: readonly ('edges' | 'nodes')[]
}

/** Stores a list under the arguments that select and order it, and joins its pages: `edges` as Apollo Client does, and `nodes` too. */
function joinPages(keyArgs: readonly string[]): FieldPolicy {
  const { read, merge, ...policy } = relayStylePagination([...keyArgs]) as FieldPolicy
  return {
    ...policy,
    read: (list: List | null | undefined, options) =>
      list?.isStale || typeof read !== 'function' ? undefined : read(list, options),
    merge(known: List | null | undefined, page: List | null, options) {
      // A list that failed is null, and not empty.
      if (page === null || typeof merge !== 'function') return page
      const joined: List = merge(known, page, options)
      const { nodes = [], pageInfo, kept = [] } = known ?? {}
      const refOf = (row: StoreObject | Reference) =>
        options.isReference(row) ? row : options.readField<Reference>('node', row)
      const { after, before } = options.args ?? {}
      if (after || before) {
        // The list may have been read again since this page was asked for: then both can have a row.
        const edges = uniqueBy(joined.edges, (edge) => refOf(edge)?.__ref)
        if (!page.nodes) return { ...joined, edges }
        const all = after ? [...nodes, ...page.nodes] : [...page.nodes, ...nodes]
        return { ...joined, edges, nodes: uniqueBy(all, (node) => node.__ref) }
      }
      const laterOf = (name: 'edges' | 'nodes') => {
        const rows: readonly (StoreObject | Reference)[] = (kept.includes(name) && known?.[name]) || []
        const left = rows.filter((row) => options.canRead(refOf(row)))
        return rowsAfter(left, page[name] ?? [], (row) => refOf(row)?.__ref)
      }
      const [laterEdges, laterNodes] = [laterOf('edges'), laterOf('nodes')]
      return {
        ...joined,
        isStale: false,
        kept: kept.filter((name) => !page[name]),
        edges: [...joined.edges, ...laterEdges],
        ...(page.nodes && { nodes: [...page.nodes, ...laterNodes] }),
        // The end is that of the last page.
        pageInfo: laterEdges.length + laterNodes.length > 0 ? pageInfo : joined.pageInfo,
      }
    },
  }
}

/** Leaves out rows whose id an earlier one has. */
function uniqueBy<Row>(rows: readonly Row[], idOf: (row: Row) => string | undefined): readonly Row[] {
  const ids = new Set<string>()
  return rows.filter((row) => {
    const id = idOf(row)
    if (id === undefined) return true
    const isFirst = !ids.has(id)
    ids.add(id)
    return isFirst
  })
}

/** Keeps in the cache what a result says besides its data: errors, and what was deleted. */
function createCacheLink(
  cache: ApolloCache,
  connection: Connection,
  documents: ClientOptions['documents'],
): ApolloLink {
  return new ApolloLink((operation, forward) => {
    const kind = kindOf(operation)
    return new Observable((observer) => {
      const { headers, action } = operation.getContext()
      const sent = connection.begin(kind, action, () =>
        requestOf(operation.query, operation.variables, documents, print),
      )
      operation.setContext({ headers: { ...headers, ...sent.headers } })
      const complete = (result: ApolloLink.Result) => {
        const whole = sent.complete(result as Result)
        return whole instanceof Promise ? whole : [whole]
      }
      const results = forward(operation).pipe(concatMap(complete), finalize(sent.end))
      return results.subscribe({
        next(result) {
          const { data, errors = [] } = result as Result
          keepForbidden(cache, data, errors)
          observer.next(result as ApolloLink.Result)
          // Now the cache has the data.
          evictFailed(cache, operation, data, errors)
          sent.read(result as Result)
        },
        error: (error) => observer.error(error),
        complete: () => observer.complete(),
      })
    })
  })
}

type Parent = Readonly<Record<string | number, unknown>>

/** The objects on the path to a field that is null because of an error, from the root on, and the field of each. */
function pathTo(data: unknown, { path = [] }: FieldError): { readonly object: Parent; readonly field: string }[] {
  const found: { object: Parent; field: string }[] = []
  let value = data
  for (const part of path) {
    if (typeof value !== 'object' || value === null) break
    if (typeof part === 'string') found.push({ object: value as Parent, field: part })
    value = (value as Parent)[part]
  }
  return found
}

const forbiddenQuery = gql('query Withheld { __withheld }')

/** The names of fields that the token may not read: `User.email`. They are a part of the cache. */
const forbiddenIn = (cache: ApolloCache) =>
  cache.readQuery<{ __withheld: readonly string[] }>({ query: forbiddenQuery })?.__withheld ?? []

const nameOf = (object: Parent, field: string) => `${object['__typename'] ?? 'Query'}.${field}`

/** Whether data has a field of this name with a value. */
function hasValue(data: unknown, name: string): boolean {
  if (typeof data !== 'object' || data === null) return false
  if (Array.isArray(data)) return data.some((each) => hasValue(each, name))
  return Object.entries(data).some(
    ([field, value]) => (value !== null && nameOf(data as Parent, field) === name) || hasValue(value, name),
  )
}

/** Remembers which fields are withheld, and forgets those that are not any more. */
function keepForbidden(cache: ApolloCache, data: unknown, errors: readonly FieldError[]): void {
  const names = errors
    .filter(({ extensions }) => extensions?.code === 'FORBIDDEN')
    .flatMap((error) => pathTo(data, error).slice(-1))
    .map(({ object, field }) => nameOf(object, field))
  const known = forbiddenIn(cache)
  const all = new Set([...known.filter((name) => !hasValue(data, name)), ...names])
  if (all.size !== known.length || names.some((name) => !known.includes(name)))
    cache.writeQuery({ query: forbiddenQuery, data: { __withheld: [...all] } })
}

/**
 * Whether a field is null because the token may not read it, also if the data is from the cache. A field that failed for another reason
 * is not in the cache: it is read again, and is null with an error again.
 *
 * @param data of a result
 * @param path without positions: `users.edges.node.email`
 * @returns `FORBIDDEN`, or undefined
 */
export function withheld(client: ApolloClient, data: unknown, path: string): 'FORBIDDEN' | undefined {
  const forbidden = forbiddenIn(client.cache)
  let objects = [data]
  for (const field of path.split('.')) {
    const parents = objects.filter((object): object is Parent => typeof object === 'object' && object !== null)
    const isForbidden = (object: Parent) => object[field] === null && forbidden.includes(nameOf(object, field))
    if (parents.some(isForbidden)) return 'FORBIDDEN'
    objects = parents.flatMap((object) => object[field])
  }
  return undefined
}

/** Removes fields that failed from the cache: the next page that shows them reads them again. */
function evictFailed(
  cache: ApolloCache,
  { query }: ApolloLink.Operation,
  data: unknown,
  errors: readonly FieldError[],
): void {
  for (const error of errors) {
    if (error.extensions?.code === 'FORBIDDEN') continue
    for (const { object, field } of pathTo(data, error).toReversed()) {
      const id = object === data ? 'ROOT_QUERY' : cache.identify(object as never)
      if (!id) continue
      for (const fieldName of namesOf(query, field)) cache.evict({ id, fieldName, broadcast: false })
      break
    }
  }
}

/** The fields that have a name in a result. */
function namesOf(document: ApolloLink.Operation['query'], responseName: string): Set<string> {
  const names = new Set<string>()
  visit(document, {
    Field({ alias, name }) {
      if ((alias ?? name).value === responseName) names.add(name.value)
    },
  })
  return names
}

/**
 * Removes objects that were deleted, and the lists and numbers that counted them, or may have what was created. Pages
 * read these again.
 */
function evict(cache: ApolloCache, deleted: readonly Deleted[], created: readonly Created[]): void {
  const forget: Modifier<unknown> = (value, { DELETE, readField }) => {
    // It has an object already.
    if (schema.possibleTypes['Node']?.includes(String(readField('__typename', value as Reference)))) return value
    const { edges, nodes, pageInfo = {}, isStale, kept = [] } = (value ?? {}) as Partial<List>
    if (!edges) return DELETE
    // What was created may be among the rows of each page, which are read with the first one.
    const isKept = created.length === 0 && !(isStale && kept.length === 0)
    return { edges, pageInfo, ...(nodes && { nodes }), isStale: true, kept: isKept ? ['edges', 'nodes'] : [] }
  }
  cache.batch({
    update() {
      for (const object of deleted) cache.evict({ id: cache.identify({ ...object }) ?? '' })
      for (const [id, object = {}] of Object.entries(cache.extract() as NormalizedCacheObject)) {
        const type = id === 'ROOT_QUERY' ? 'Query' : (object.__typename ?? '')
        const lists = type === 'Query' ? schema.countedFields : Object.keys(schema.pagedLists[type] ?? {})
        const changed = new Set([
          ...(deleted.length > 0 ? lists : []),
          ...fieldsChangedBy(created, type, String(object['id'])),
        ])
        // Most objects have none, and modifying each would take long.
        const names = new Set(
          Object.keys(object)
            .map((key) => key.replace(/[:(@].*/s, ''))
            .filter((name) => changed.has(name)),
        )
        if (names.size === 0) continue
        cache.modify({ id, fields: Object.fromEntries([...names].map((name) => [name, forget])) })
      }
    },
  })
}
