import { hash } from 'node:crypto'
import type { Logger } from '../context.ts'
import { GatewayError } from '../errors.ts'
import type { GraphQLParams } from './params.ts'
import type { TrustedDocuments } from './trusted-documents.ts'

/** Finds the text of a document that a client names by an id, or by its hash. */
export interface DocumentFinder {
  /**
   * The parameters with the text that is to run.
   *
   * @throws GatewayError DOCUMENT_NOT_TRUSTED, PERSISTED_QUERY_NOT_FOUND, or MALFORMED_REQUEST for a hash of another text
   */
  find(params: GraphQLParams, log: Logger): GraphQLParams
  /** Notes that a document was valid: from now on its hash is enough. */
  keep(params: GraphQLParams): void
}

/** How many automatic persisted queries are kept, and how long they may be. */
const maxKept = 1024
const maxKeptLength = 20_000

/**
 * Without trusted documents, queries are persisted automatically, as Apollo's clients ask for it; with them, ids and
 * hashes name those alone.
 *
 * @see https://github.com/apollographql/apollo-link-persisted-queries#protocol
 */
export function createDocumentFinder(trusted: TrustedDocuments | undefined): DocumentFinder {
  return trusted ? ofTrusted(trusted) : ofPersisted()
}

function ofTrusted({ byId, texts, others }: TrustedDocuments): DocumentFinder {
  return {
    find({ documentId, ...params }, log) {
      const id = documentId ?? persistedHash(params)
      const text = id === undefined ? undefined : (byId.get(id) ?? byId.get(id.replace(/^sha256:/, '')))
      if (text !== undefined) return { ...params, query: text }
      if (others === 'refuse' && !texts.has(params.query ?? '')) {
        throw new GatewayError('DOCUMENT_NOT_TRUSTED', 'Only trusted documents run here.')
      }
      if (params.query === undefined && id !== undefined) throw notFound()
      if (params.query !== undefined && !texts.has(params.query)) {
        log.warn({ documentHash: sha256(params.query), operation: params.operationName }, 'a document is not trusted')
      }
      return params
    },
    keep: () => undefined,
  }
}

function ofPersisted(): DocumentFinder {
  const kept = new Map<string, string>()
  return {
    find({ documentId, ...params }) {
      const wanted = persistedHash(params) ?? documentId?.replace(/^sha256:/, '')
      if (wanted === undefined) return params
      if (params.query === undefined) {
        const query = kept.get(wanted)
        if (query === undefined) throw notFound()
        return { ...params, query }
      }
      if (sha256(params.query) !== wanted) {
        throw new GatewayError('MALFORMED_REQUEST', 'The hash is not the SHA-256 of the query.')
      }
      return params
    },
    keep({ query, ...params }) {
      const wanted = persistedHash(params)
      if (wanted === undefined || query === undefined || kept.has(wanted) || query.length > maxKeptLength) return
      // The oldest goes first: a map keeps the order in which its keys came.
      if (kept.size >= maxKept) kept.delete(kept.keys().next().value ?? '')
      kept.set(wanted, query)
    },
  }
}

/** @throws GatewayError MALFORMED_REQUEST when there is a hash, and it is no text */
function persistedHash({ extensions }: GraphQLParams): string | undefined {
  const persisted = extensions?.['persistedQuery'] as { sha256Hash?: unknown } | null | undefined
  if (persisted == null || persisted.sha256Hash == null) return undefined
  if (typeof persisted.sha256Hash === 'string' && persisted.sha256Hash !== '') return persisted.sha256Hash
  throw new GatewayError('MALFORMED_REQUEST', 'extensions.persistedQuery.sha256Hash must be a string.')
}

function sha256(text: string): string {
  return hash('sha256', text)
}

/** In the words that clients wait for before they send the text as well. */
function notFound(): GatewayError {
  return new GatewayError('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound')
}
