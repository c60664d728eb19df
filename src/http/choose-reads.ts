import type { FastifyRequest } from 'fastify'
import { type DocumentNode, getOperationAST, OperationTypeNode } from 'graphql'
import type { RecentWrites } from '../limits/recent-writes.ts'
import { viewerOf } from './request.ts'

/** Runs an operation, its reads where they may come from. */
export type ChooseReads = <Result>(
  request: FastifyRequest,
  operation: { readonly document: DocumentNode; readonly operationName?: string | null | undefined },
  work: () => Promise<Result>,
) => Promise<Result>

/**
 * A query may read from replicas, unless its key has written a moment ago: then it sees what it wrote. Everything else
 * goes to the primary.
 *
 * @param writes undefined when there are no replicas
 */
export function createChooseReads(writes: RecentWrites | undefined): ChooseReads {
  if (!writes) return (_request, _operation, work) => work()
  return async (request, { document, operationName }, work) => {
    const { keyId } = viewerOf(request)
    const isQuery = getOperationAST(document, operationName)?.operation === OperationTypeNode.QUERY
    if (isQuery) {
      request.sqlCount.mayLag = !(await writes.has(keyId))
      return work()
    }
    try {
      return await work()
    } finally {
      // From when it is done on, and before the caller knows.
      await writes.note(keyId)
    }
  }
}
