import { hash } from 'node:crypto'
import {
  createDocumentFinder,
  type DocumentFinder,
  type GraphQLParams,
  readBodyParams,
  readQueryParams,
  type TrustedDocuments,
} from '@fusion-gateway/gateway-kit'
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
  /** Those of clients, with what names them. */
  readonly trusted: Pick<TrustedDocuments, 'byId' | 'texts'> | undefined
  /** Those that the routes of REST run. */
  readonly ofRoutes: Iterable<string>
  /** Requests of clients, whose documents and variables are sent. */
  readonly recorded: AsyncIterable<FullRequest>
}

type OnLeftOut = (name: string, reason: string) => void

/** Reads what the tenant of the key has requested in the last 30 days. Undefined if the key lacks `usage:read`. */
export async function readUsedOperations(client: Client): Promise<readonly UsedOperation[] | undefined> {
  const request = toRequest({ query: usageQuery })
  const { body } = await exchange(client, request, request.body, { milliseconds })
  const { data } = usageResult.safeParse(JSON.parse(body.toString('utf8')))
  return data?.data.usage.operations
}

/**
 * The operations of trusted documents and of recorded requests, most requests first, each several times: with the
 * variables of recorded requests, if there are some.
 *
 * @param used decides the order, and names operations whose document is not known
 * @param onLeftOut called with the name of an operation that cannot be sent, and why
 */
export async function* requestsOfOperations(
  { trusted, ofRoutes, recorded }: Documents,
  used: readonly UsedOperation[],
  onLeftOut: OnLeftOut,
): AsyncGenerator<FullRequest> {
  const variablesOf = await readRecorded(recorded, trusted, onLeftOut)
  const texts = [...(trusted?.texts ?? []), ...variablesOf.keys()]
  const byHash = new Map(texts.map((text) => [hash('sha256', text), text]))
  const routes = new Set([...ofRoutes].map((text) => hash('sha256', text)))
  // Usage has a row for each client.
  const requestsOf = new Map<string, number>()
  for (const { operationName, operationHash, requests } of used) {
    if (operationHash === null) continue
    const isFirst = !requestsOf.has(operationHash)
    requestsOf.set(operationHash, (requestsOf.get(operationHash) ?? 0) + requests)
    if (byHash.has(operationHash) || !isFirst) continue
    onLeftOut(operationName ?? operationHash, routes.has(operationHash) ? ofRestRoute : unknownDocument)
  }
  const sorted = [...byHash].toSorted(([one], [other]) => (requestsOf.get(other) ?? 0) - (requestsOf.get(one) ?? 0))
  for (const [, query] of sorted) {
    const operations = operationsIn(query)
    for (const operation of operations) {
      const name = operation.name?.value
      const sent = variablesOf.get(query)
      // A request need not name the only operation of its document.
      const known = [...(sent?.get(name) ?? []), ...((operations.length === 1 && sent?.get(undefined)) || [])]
      const reason = reasonAgainst(operation, known.length > 0)
      if (reason !== undefined) onLeftOut(name ?? 'an operation without a name', reason)
      else yield* repeated({ query, ...(name !== undefined && { operationName: name }) }, known)
    }
  }
}

/** Requests of one operation, with the variables in turn. */
function* repeated(params: GraphQLParams, variables: readonly string[]): Generator<FullRequest> {
  for (let count = 0; count < repetitions; count += 1) {
    const json = variables[count % variables.length]
    yield toRequest({ ...params, ...(json !== undefined && { variables: JSON.parse(json) }) })
  }
}

/** For each document and name of an operation, the variables of requests as JSON. */
type VariablesOf = Map<string, Map<string | undefined, Set<string>>>

/** The most documents that are read: clients may write values into their documents, so that each is another one. */
const maxDocuments = 1_000

/** Reads the documents of requests with their first different variables, as many as are sent. */
async function readRecorded(
  requests: AsyncIterable<FullRequest>,
  trusted: Documents['trusted'],
  onLeftOut: OnLeftOut,
): Promise<VariablesOf> {
  const finder = createDocumentFinder(trusted && { ...trusted, others: 'log' })
  const variablesOf: VariablesOf = new Map()
  let isFull = false
  for await (const request of requests) {
    const { query, operationName, variables = {} } = paramsOf(request, finder) ?? {}
    if (query === undefined) continue
    if (!variablesOf.has(query) && variablesOf.size === maxDocuments) {
      if (!isFull) onLeftOut('Further documents', `documents after the first ${maxDocuments}`)
      isFull = true
      continue
    }
    const byName = variablesOf.get(query) ?? new Map<string | undefined, Set<string>>()
    const known = byName.get(operationName) ?? new Set()
    if (known.size < repetitions) known.add(JSON.stringify(variables))
    variablesOf.set(query, byName.set(operationName, known))
  }
  return variablesOf
}

/**
 * The parameters of a request of GraphQL, with the document that an id in it names. Undefined if it is another request,
 * the gateway would refuse it, or no request before says which document that is.
 */
function paramsOf({ method, target, body }: FullRequest, finder: DocumentFinder): GraphQLParams | undefined {
  try {
    const { pathname, searchParams } = new URL(target, 'http://localhost')
    if (pathname !== '/graphql') return undefined
    const sent =
      method === 'GET' ? readQueryParams(Object.fromEntries(searchParams)) : readBodyParams(JSON.parse(body.toString()))
    const params = finder.find(sent, recordedTenant, silent)
    finder.store(params, recordedTenant)
    return params
  } catch {
    return undefined
  }
}

const silent = { error: () => undefined, warn: () => undefined }
const recordedTenant = 'recorded'

const ofRestRoute = 'operations of REST routes, which --requests compares without --operations'
const unknownDocument = 'operations of which usage has only the hash of the document: record requests'

/** Why an operation cannot be sent. */
function reasonAgainst(
  { operation, variableDefinitions = [] }: OperationDefinitionNode,
  hasVariables: boolean,
): string | undefined {
  if (operation !== OperationTypeNode.QUERY) return `${operation}s`
  if (hasVariables) return undefined
  const needsValues = variableDefinitions.some(
    ({ type, defaultValue }) => type.kind === Kind.NON_NULL_TYPE && !defaultValue,
  )
  return needsValues ? 'operations with required variables: record requests' : undefined
}

/** A document of another version can be invalid. Its clients get errors from both. */
function operationsIn(text: string): OperationDefinitionNode[] {
  try {
    return parse(text).definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
  } catch {
    return []
  }
}

function toRequest(body: GraphQLParams): FullRequest {
  const headers = ['content-type', 'application/json']
  return { method: 'POST', target: '/graphql', headers, body: Buffer.from(JSON.stringify(body)) }
}
