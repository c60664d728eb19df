import { hash } from 'node:crypto'
import { Kind, type OperationDefinitionNode, OperationTypeNode, parse } from 'graphql'
import { z } from 'zod'
import { type Client, exchange } from '../old-service/send.ts'
import type { FullRequest } from './shadow.ts'

/** An operation that clients have sent, as `Query.usage` has it: usage keeps no documents and no variables. */
interface UsedOperation {
  readonly operationName: string | null
  readonly operationHash: string | null
  readonly requests: number
}

/** How often each operation is sent, so that its time is no accident. */
const repetitions = 5

/** How long the gateway may take for its usage. */
const milliseconds = 60_000

const usageQuery = '{ usage(first: 1) { operations { operationName operationHash requests } } }'

const usageResult = z.object({
  data: z.object({
    usage: z.object({
      operations: z.array(
        z.object({ operationName: z.string().nullable(), operationHash: z.string().nullable(), requests: z.number() }),
      ),
    }),
  }),
})

/** Texts of documents. */
export interface Documents {
  /** Those of clients. */
  readonly trusted: Iterable<string>
  /** Those that the routes of REST run. */
  readonly ofRoutes: Iterable<string>
}

/** Reads what the tenant of the key has requested in the last 30 days. Undefined if the key lacks `usage:read`. */
export async function readUsedOperations(client: Client): Promise<readonly UsedOperation[] | undefined> {
  const request = toRequest({ query: usageQuery })
  const { body } = await exchange(client, request, request.body, { milliseconds })
  const { data } = usageResult.safeParse(JSON.parse(body.toString('utf8')))
  return data?.data.usage.operations
}

/**
 * The operations of trusted documents, most requests first, each several times.
 *
 * @param used decides the order, and names operations whose document is not among the trusted ones
 * @param onLeftOut called with the name of an operation that cannot be sent, and why
 */
export async function* requestsOfOperations(
  { trusted, ofRoutes }: Documents,
  used: readonly UsedOperation[],
  onLeftOut: (name: string, reason: string) => void,
): AsyncGenerator<FullRequest> {
  const requestsOf = new Map(used.map(({ operationHash, requests }) => [operationHash, requests]))
  const byHash = new Map([...trusted].map((text) => [hash('sha256', text), text]))
  const routes = new Set([...ofRoutes].map((text) => hash('sha256', text)))
  for (const { operationName, operationHash } of used) {
    if (operationHash === null || byHash.has(operationHash)) continue
    onLeftOut(operationName ?? operationHash, routes.has(operationHash) ? ofRestRoute : unknownDocument)
  }
  const sorted = [...byHash].toSorted(([one], [other]) => (requestsOf.get(other) ?? 0) - (requestsOf.get(one) ?? 0))
  for (const [, query] of sorted) {
    for (const operation of operationsIn(query)) {
      const name = operation.name?.value
      const reason = reasonAgainst(operation)
      if (reason !== undefined) onLeftOut(name ?? 'an operation without a name', reason)
      else for (let count = 0; count < repetitions; count += 1) yield toRequest({ query, operationName: name })
    }
  }
}

const ofRestRoute = 'operations of REST routes, which --requests compares'
const unknownDocument = 'operations of which usage has only the hash of the document'

/** Why an operation cannot be sent. */
function reasonAgainst({ operation, variableDefinitions = [] }: OperationDefinitionNode): string | undefined {
  if (operation !== OperationTypeNode.QUERY) return `${operation}s`
  const needsValues = variableDefinitions.some(
    ({ type, defaultValue }) => type.kind === Kind.NON_NULL_TYPE && !defaultValue,
  )
  return needsValues ? 'operations with required variables, which nothing records' : undefined
}

/** A document of another version can be invalid. Its clients get errors from both. */
function operationsIn(text: string): OperationDefinitionNode[] {
  try {
    return parse(text).definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
  } catch {
    return []
  }
}

function toRequest(body: { readonly query: string; readonly operationName?: string | undefined }): FullRequest {
  const headers = ['content-type', 'application/json']
  return { method: 'POST', target: '/graphql', headers, body: Buffer.from(JSON.stringify(body)) }
}
