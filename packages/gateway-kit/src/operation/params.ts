import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError, isObject, ownValue } from '@fusion-gateway/base'
import { excessOf, problemOfNumbers } from '@fusion-gateway/input'
import type { Logger } from '@fusion-gateway/telemetry'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { readIdempotencyKey, toIdempotencyKey } from '../request.ts'
import type { TrustedDocuments } from './trusted-documents.ts'

export interface GraphQLParams {
  query?: string
  /** The id of a document that the gateway knows. */
  documentId?: string
  operationName?: string
  variables?: Record<string, unknown>
  extensions?: Record<string, unknown>
}

/**
 * Reads the parameters from a JSON body.
 *
 * @throws GatewayError MALFORMED_REQUEST naming the parameter that has the wrong type
 * @see https://graphql.github.io/graphql-over-http/draft/#sec-Request-Parameters
 */
export function readBodyParams(body: unknown): GraphQLParams {
  if (Array.isArray(body)) throw malformed('Batching is not supported. Send each operation in a request of its own.')
  if (!isObject(body)) throw malformed('Send a JSON object with the key query.')
  return {
    ...readText(body, 'query'),
    ...readText(body, 'documentId'),
    ...readText(body, 'operationName'),
    ...readObject(body, 'variables'),
    ...readObject(body, 'extensions'),
  }
}

/**
 * Reads the parameters from a query string.
 *
 * @param search the parsed query string. A parameter that is given twice is an array, and rejected
 * @throws GatewayError MALFORMED_REQUEST naming the parameter that has the wrong type
 */
export function readQueryParams(search: Record<string, unknown>): GraphQLParams {
  return readBodyParams({
    ...search,
    ...('variables' in search && { variables: parseJson(search['variables'], 'variables') }),
    ...('extensions' in search && { extensions: parseJson(search['extensions'], 'extensions') }),
  })
}

/**
 * Reads the idempotency key of an operation: `extensions.idempotencyKey`. It is the same as that of the header of a
 * POST, so that a client may send a mutation again by either.
 *
 * @throws GatewayError MALFORMED_REQUEST if it is not a key
 */
export function idempotencyKeyIn({ query, operationName, variables, extensions }: GraphQLParams) {
  const content = [query, operationName, variables]
  return toIdempotencyKey('extensions.idempotencyKey', extensions?.['idempotencyKey'], 'POST /graphql', content)
}

/**
 * Reads the idempotency key of a request: of its header, or of `extensions`, which batches and WebSockets have too.
 *
 * @throws GatewayError MALFORMED_REQUEST if it is not a key, or each has another one
 */
export function readKey(request: FastifyRequest, params: GraphQLParams) {
  // The document itself, however it was named: a retry may name it by its hash.
  const { query, operationName, variables } = params
  const ofHeader = readIdempotencyKey(request, [query, operationName, variables])
  const ofParams = idempotencyKeyIn(params)
  if (ofHeader && ofParams && ofHeader.key !== ofParams.key) {
    throw malformed('The header idempotency-key is not the key in extensions.idempotencyKey.')
  }
  return ofHeader ?? ofParams
}

/**
 * Whether a client asks for the position in the event log: by the header `x-position: yes`, or by
 * `extensions.position`, which batches and WebSockets have too.
 *
 * @throws GatewayError MALFORMED_REQUEST for another value
 */
export function asksForPosition(headers: IncomingHttpHeaders, { extensions }: GraphQLParams): boolean {
  const { 'x-position': header = 'no' } = headers
  const parameter = extensions?.['position'] ?? false
  if (header !== 'yes' && header !== 'no') throw malformed('The header x-position must be yes or no.')
  if (typeof parameter !== 'boolean') throw malformed('extensions.position must be true or false.')
  return header === 'yes' || parameter
}

/**
 * Whether a client of a live query accepts patches, by `extensions.live.patch`.
 *
 * @throws GatewayError MALFORMED_REQUEST for another value
 */
export function acceptsPatches({ extensions }: GraphQLParams): boolean {
  const live = extensions?.['live'] ?? {}
  const patch = typeof live === 'object' ? (ownValue(live, 'patch') ?? false) : undefined
  if (typeof patch !== 'boolean') throw malformed('extensions.live.patch must be true or false.')
  return patch
}

function readText(
  source: Record<string, unknown>,
  name: 'query' | 'documentId' | 'operationName',
): Partial<GraphQLParams> {
  const value = source[name]
  if (value == null || (name !== 'query' && value === '')) return {}
  if (typeof value !== 'string') throw malformed(`${name} must be a string.`)
  return { [name]: value }
}

function readObject(source: Record<string, unknown>, name: 'variables' | 'extensions'): Partial<GraphQLParams> {
  const value = source[name]
  if (value == null) return {}
  if (!isObject(value)) throw malformed(`${name} must be an object.`)
  return { [name]: value }
}

function parseJson(value: unknown, name: string): unknown {
  if (value === '') return undefined
  let parsed: unknown
  try {
    parsed = JSON.parse(String(value))
  } catch {
    throw malformed(`${name} must be JSON.`)
  }
  const excess = excessOf(parsed)
  if (excess !== undefined) throw malformed(`${name} ${excess}.`)
  const problem = problemOfNumbers(String(value))
  if (problem !== undefined) throw new GatewayError('BAD_USER_INPUT', `${name} ${problem}.`)
  return parsed
}

function malformed(message: string): GatewayError {
  return new GatewayError('MALFORMED_REQUEST', message)
}

/** Finds the document of a request that names it by an id or a hash. */
export interface DocumentFinder {
  /**
   * Returns the parameters with the document to execute.
   *
   * @param tenant the id of the client's tenant
   * @throws GatewayError DOCUMENT_NOT_TRUSTED, PERSISTED_QUERY_NOT_FOUND, or MALFORMED_REQUEST for a hash of another
   *   text
   */
  find(params: GraphQLParams, tenant: string, log: Logger): GraphQLParams
  /** Stores a valid document, so that later requests of the tenant can send its hash alone. */
  store(params: GraphQLParams, tenant: string): void
}

/**
 * Creates a finder. Documents are stored as automatic persisted queries, unless only trusted documents are executed.
 * Ids and hashes name trusted documents first.
 *
 * @see https://github.com/apollographql/apollo-link-persisted-queries#protocol
 */
export function createDocumentFinder(trusted: TrustedDocuments | undefined): DocumentFinder {
  if (!trusted) return createPersistedFinder()
  return createTrustedFinder(trusted, trusted.others === 'log' ? createPersistedFinder() : undefined)
}

const hashPrefix = 'sha256:'

/** @param others finds the other documents, if they are executed too */
function createTrustedFinder(trusted: TrustedDocuments, others: DocumentFinder | undefined): DocumentFinder {
  // Codegen's ids are `sha256:` and the hash; Apollo's clients send the hash alone.
  const textOf = (id: string) =>
    trusted.byId.get(id) ?? trusted.byId.get(id.startsWith(hashPrefix) ? id.slice(hashPrefix.length) : hashPrefix + id)
  return {
    find({ documentId, ...params }, tenant, log) {
      const id = documentId ?? persistedHash(params)
      const text = id === undefined ? undefined : textOf(id)
      if (text !== undefined) return { ...params, query: text }
      const isTrusted = (query = '') => trusted.texts.has(query)
      if (!others) {
        if (isTrusted(params.query)) return params
        throw notTrusted(params.query, id)
      }
      // An id of another build says nothing about the text that comes with it.
      const named = params.query === undefined && documentId !== undefined ? { ...params, documentId } : params
      const found = others.find(named, tenant, log)
      const { query, operationName } = found
      if (query !== undefined && !isTrusted(query)) {
        log.warn({ documentHash: hash('sha256', query), operation: operationName }, 'a document is not trusted')
      }
      return found
    },
    store: (params, tenant) => others?.store(params, tenant),
  }
}

/** The rejection of a document. It says how the operator can make it a trusted one. */
function notTrusted(query: string | undefined, id: string | undefined): GatewayError {
  const name =
    query === undefined
      ? `no trusted document has the id ${JSON.stringify(id?.slice(0, 100) ?? '')}`
      : `the one with the SHA-256 hash ${hash('sha256', query)} is not trusted`
  return new GatewayError(
    'DOCUMENT_NOT_TRUSTED',
    `Only trusted documents are executed, and ${name}. Add it to the files of TRUSTED_DOCUMENTS and restart the gateway.`,
  )
}

/**
 * Limits on automatic persisted queries, in characters: the length of each, and the size of all of one tenant, where
 * each counts with its hash and its place in the cache. The number of tenants bounds the memory of all.
 */
const maxStoredLength = 20_000
const maxTenantSize = 250_000
const sizeOfEntry = 200
const maxTenants = 200

function createPersistedFinder(): DocumentFinder {
  // For each tenant its own, so that no tenant can evict or read the documents of another.
  const byTenant = new LRUCache<string, LRUCache<string, string>>({
    max: maxTenants,
    memoMethod: () =>
      new LRUCache({ maxSize: maxTenantSize, sizeCalculation: ({ length }: string) => length + sizeOfEntry }),
  })
  return {
    find({ documentId, ...params }, tenant) {
      const id = persistedHash(params) ?? documentId
      const wanted = id?.startsWith(hashPrefix) ? id.slice(hashPrefix.length) : id
      if (wanted === undefined) return params
      if (params.query === undefined) {
        const query = byTenant.get(tenant)?.get(wanted)
        if (query === undefined) throw notFound()
        return { ...params, query }
      }
      if (hash('sha256', params.query) !== wanted) {
        throw new GatewayError('MALFORMED_REQUEST', 'The hash is not the SHA-256 of the query.')
      }
      return params
    },
    store({ query, ...params }, tenant) {
      const wanted = persistedHash(params)
      if (wanted === undefined || query === undefined || query.length > maxStoredLength) return
      byTenant.memo(tenant).set(wanted, query)
    },
  }
}

/** @throws GatewayError MALFORMED_REQUEST if the hash is not a string */
function persistedHash({ extensions }: GraphQLParams): string | undefined {
  const persisted = extensions?.['persistedQuery'] as { sha256Hash?: unknown } | null | undefined
  if (persisted == null || persisted.sha256Hash == null) return undefined
  if (typeof persisted.sha256Hash === 'string' && persisted.sha256Hash !== '') return persisted.sha256Hash
  throw new GatewayError('MALFORMED_REQUEST', 'extensions.persistedQuery.sha256Hash must be a string.')
}

/** Apollo's clients wait for this message before they send the document. */
function notFound(): GatewayError {
  return new GatewayError('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound')
}
