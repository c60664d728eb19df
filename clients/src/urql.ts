import {
  Client,
  type CombinedError,
  type Exchange,
  fetchExchange,
  makeOperation,
  mapExchange,
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
  type FieldInfo,
  type Resolver,
  type UpdateResolver,
} from '@urql/exchange-graphcache'
import { relayPagination } from '@urql/exchange-graphcache/extras'
import type { ClientOptions } from './core.ts'
import { deletedBy } from './deleted.ts'
import { createWithheld, errorsOf } from './errors.ts'
import * as schema from './generated.ts'
import { connect, fieldOf, type OperationKind } from './library.ts'
import { type Result, requestOf } from './request.ts'

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
export function createUrqlClient(options: UrqlOptions): Client {
  const { exchanges = [], cache = cacheOptions, requestPolicy = 'cache-first', url, documents } = options
  const connection = connect(options)
  const prepare = mapExchange({
    onOperation({ kind, context, extensions, ...request }) {
      const { fetchOptions, action } = context as typeof context & { readonly action?: string }
      const { headers, ...init } = (typeof fetchOptions === 'function' ? fetchOptions() : fetchOptions) ?? {}
      const own = connection.headersOf(kind as OperationKind, action)
      const { documentId } = documents === 'persisted' ? requestOf(request.query, {}, documents) : {}
      const persisted = documentId !== undefined && { persistedQuery: { version: 1 as const, sha256Hash: documentId } }
      return makeOperation(
        kind,
        { ...request, extensions: { ...extensions, ...persisted } },
        { ...context, fetchOptions: { ...init, headers: { ...Object.fromEntries(new Headers(headers)), ...own } } },
      )
    },
    onResult: ({ operation, data, extensions }) =>
      operation.kind === 'subscription'
        ? undefined
        : connection.read(operation.kind as OperationKind, { data, extensions } as Result),
  })
  const client = new Client({
    url,
    fetch: connection.fetch,
    preferGetMethod: false,
    requestPolicy,
    exchanges: [
      typeof cache === 'function' ? cache : cacheExchange(cache),
      ...exchanges,
      prepare,
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: (_, { query, variables }) => ({
          subscribe: (sink) => ({
            unsubscribe: connection.subscribe(
              requestOf(query, variables ?? {}, documents, stringifyDocument),
              sink as never,
            ),
          }),
        }),
      }),
    ],
  })
  // A key is the hash of a document and its variables. The cache takes the result of a mutation for that of the last one with the same
  // key, so a click would wait for ever if another one follows before it is answered. Hashes are positive.
  const executeMutation = client.executeMutation.bind(client)
  let key = 0
  client.executeMutation = (request, context) => {
    key -= 1
    return executeMutation({ ...request, key }, context)
  }
  return client
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

/** Joins the pages of a list. `relayPagination` finds no list without arguments, and skips an empty page, even if it is the end. */
const joinPages = (): Resolver => {
  const join = relayPagination()
  return (parent, args, cache, info) => {
    const page = cache.resolve(info.parentKey, info.parentFieldKey) as string | null
    const end = cache.resolve(page, 'pageInfo') as string | null
    const joined = join(parent, args, cache, info) as { readonly pageInfo: object } | undefined
    if (!joined) return page as DataFields | null
    const { pageInfo, ...rows } = joined
    // A query that selects it then reads the list again.
    if (!end && !args['after']) return rows as DataFields
    const isEnd = args['after'] && cache.resolve(end, 'hasNextPage') === false
    return { ...rows, pageInfo: { ...pageInfo, ...(isEnd && { hasNextPage: false }) } } as DataFields
  }
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

/** Lets pages read lists and numbers again. Of a list with several pages only one would be read: they are kept, without what was deleted. */
function recount(cache: Cache, entity: string, names: readonly string[], deleted: readonly (string | null)[]): void {
  const fields = cache.inspectFields(entity).filter(({ fieldName }) => names.includes(fieldName))
  const listOf = ({ fieldName, arguments: args }: FieldInfo) =>
    stringifyVariables({ ...args, fieldName, first: null, last: null, after: null, before: null })
  const isNext = ({ arguments: args }: FieldInfo) => Boolean(args?.['after'] ?? args?.['before'])
  const grown = new Set(fields.filter(isNext).map(listOf))
  for (const field of fields) {
    const page = cache.resolve(entity, field.fieldKey)
    const isGrown = grown.has(listOf(field))
    const canGrow = typeof page === 'string' && (isGrown || cache.resolve(page, 'pageInfo'))
    const isKept = canGrow && removeRows(cache, page, deleted)
    if (!isKept) cache.invalidate(entity, field.fieldName, field.arguments)
    // It is read again. The next page, if it was asked for meanwhile, is joined to what is left.
    else if (!isGrown) cache.invalidate(page, 'pageInfo')
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
    Mutation: Object.fromEntries(schema.deletingMutations.map((name) => [name, forget])),
    Subscription: { events: forget },
  },
}
