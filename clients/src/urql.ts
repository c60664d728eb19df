import {
  Client,
  type CombinedError,
  type Exchange,
  fetchExchange,
  makeOperation,
  mapExchange,
  type Operation,
  type RequestPolicy,
  stringifyDocument,
  subscriptionExchange,
} from '@urql/core'
import {
  type CacheExchangeOpts,
  cacheExchange,
  type DataFields,
  type Entity,
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
  return new Client({
    url,
    fetch: connection.fetch,
    preferGetMethod: false,
    requestPolicy,
    exchanges: [
      tellMutationsApart(),
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
}

/**
 * A key is the hash of a document and its variables. The cache takes the result of a mutation for that of the last one with the same key,
 * so a click would wait for ever if another one follows before it is answered.
 */
function tellMutationsApart(): Exchange {
  const sent = new Map<number, Operation>()
  let key = 0
  return mapExchange({
    onOperation(operation) {
      if (operation.kind !== 'mutation') return operation
      // Hashes are positive.
      key -= 1
      sent.set(key, operation)
      return makeOperation('mutation', { ...operation, key }, operation.context)
    },
    onResult(result) {
      const operation = sent.get(result.operation.key)
      sent.delete(result.operation.key)
      return operation ? { ...result, operation } : result
    },
  })
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

/** Joins the pages of a list. A list without arguments is a page too, which `relayPagination` does not find. */
const joinPages = (): Resolver => {
  const join = relayPagination()
  return (parent, args, cache, info) =>
    join(parent, args, cache, info) ?? (cache.resolve(info.parentKey, info.parentFieldKey) as DataFields)
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
  const invalidate = (entity: Entity, names: readonly string[]) => {
    const counted = cache.inspectFields(entity).filter(({ fieldName }) => names.includes(fieldName))
    for (const { fieldName, arguments: args } of counted) cache.invalidate(entity, fieldName, args)
  }
  const deleted = deletedBy(result)
  for (const { ...object } of deleted) {
    const owner = cache.resolve(object, 'user') ?? (userId ? { __typename: 'User', id: userId } : null)
    if (owner) invalidate(owner as Entity, Object.keys(schema.pagedLists['User'] ?? {}))
    cache.invalidate(object)
  }
  if (deleted.length > 0) invalidate('Query', schema.countedFields)
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
