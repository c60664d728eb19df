import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { GatewayError } from '../../errors.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { GraphQLParams } from './params.ts'
import type { TrustedDocuments } from './trusted-documents.ts'

/** Finds the document of a request that names it by an id or a hash. */
export interface DocumentFinder {
  /**
   * Returns the parameters with the document to execute.
   *
   * @throws GatewayError DOCUMENT_NOT_TRUSTED, PERSISTED_QUERY_NOT_FOUND, or MALFORMED_REQUEST for a hash of another text
   */
  find(params: GraphQLParams, log: Logger): GraphQLParams
  /** Stores a valid document, so that later requests can send its hash alone. */
  store(params: GraphQLParams): void
}

/**
 * Creates a finder. With trusted documents, ids and hashes name those alone; without them, documents are stored as automatic
 * persisted queries.
 *
 * @see https://github.com/apollographql/apollo-link-persisted-queries#protocol
 */
export function createDocumentFinder(trusted: TrustedDocuments | undefined): DocumentFinder {
  return trusted ? createTrustedFinder(trusted) : createPersistedFinder()
}

const hashPrefix = 'sha256:'

function createTrustedFinder(trusted: TrustedDocuments): DocumentFinder {
  // Codegen's ids are `sha256:` and the hash; Apollo's clients send the hash alone.
  const textOf = (id: string) =>
    trusted.byId.get(id) ?? trusted.byId.get(id.startsWith(hashPrefix) ? id.slice(hashPrefix.length) : hashPrefix + id)
  return {
    find({ documentId, ...params }, log) {
      const id = documentId ?? persistedHash(params)
      const text = id === undefined ? undefined : textOf(id)
      if (text !== undefined) return { ...params, query: text }
      const isTrusted = trusted.texts.has(params.query ?? '')
      if (trusted.others === 'reject' && !isTrusted) {
        throw new GatewayError('DOCUMENT_NOT_TRUSTED', 'Only trusted documents are executed.')
      }
      if (params.query === undefined && id !== undefined) throw notFound()
      if (params.query !== undefined && !isTrusted) {
        log.warn({ documentHash: sha256(params.query), operation: params.operationName }, 'a document is not trusted')
      }
      return params
    },
    store: () => undefined,
  }
}

/** Limits on automatic persisted queries: their number, and the length of each. */
const maxStored = 1_024
const maxStoredLength = 20_000

function createPersistedFinder(): DocumentFinder {
  const stored = new LRUCache<string, string>({ max: maxStored })
  return {
    find({ documentId, ...params }) {
      const id = persistedHash(params) ?? documentId
      const wanted = id?.startsWith(hashPrefix) ? id.slice(hashPrefix.length) : id
      if (wanted === undefined) return params
      if (params.query === undefined) {
        const query = stored.get(wanted)
        if (query === undefined) throw notFound()
        return { ...params, query }
      }
      if (sha256(params.query) !== wanted) {
        throw new GatewayError('MALFORMED_REQUEST', 'The hash is not the SHA-256 of the query.')
      }
      return params
    },
    store({ query, ...params }) {
      const wanted = persistedHash(params)
      if (wanted !== undefined && query !== undefined && query.length <= maxStoredLength) stored.set(wanted, query)
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

function sha256(text: string): string {
  return hash('sha256', text)
}

/** Apollo's clients wait for this message before they send the document. */
function notFound(): GatewayError {
  return new GatewayError('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound')
}
