import type { FieldError } from './errors.ts'

/** The body of a request. One of `query` and `documentId` is given. */
export interface GraphQLRequest {
  readonly query?: string
  readonly documentId?: string
  readonly operationName?: string
  readonly variables?: Readonly<Record<string, unknown>>
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** A result of an operation. */
export interface Result {
  readonly data?: Readonly<Record<string, unknown>> | null
  readonly errors?: readonly FieldError[]
  /** `position` is a position in the log of events: the argument `after` of `events`. */
  readonly extensions?: { readonly position?: string; readonly [key: string]: unknown }
}

/** A text, or a document of a compiler, such as GraphQL Codegen or gql.tada. */
export type Document<Data = unknown, Variables = unknown> = string | CompiledDocument<Data, Variables>

interface CompiledDocument<Data, Variables> {
  readonly __apiType?: (variables: Variables) => Data
  /** The hash of GraphQL Codegen. */
  readonly __meta__?: Readonly<Record<string, unknown>> | undefined
  /** The id of gql.tada. */
  readonly documentId?: string
}

/**
 * The body that sends a document.
 *
 * @param documents `persisted`: by its id, and never as a text
 * @param print writes a document that was parsed: `print` of the package graphql
 * @throws Error if the document has no id, or no text
 */
export function requestOf(
  document: string | object,
  variables: object,
  documents: 'text' | 'persisted' = 'text',
  print?: (document: never) => string,
): GraphQLRequest {
  const body = { variables: variables as Readonly<Record<string, unknown>> }
  if (documents === 'persisted') {
    const { __meta__, documentId = __meta__?.['hash'] } = document as CompiledDocument<unknown, unknown>
    if (typeof documentId !== 'string')
      throw new Error('The document has no id: the option `documents` is `persisted`.')
    return { documentId, ...body }
  }
  if (typeof document === 'string' || document instanceof String) return { query: String(document), ...body }
  if (!print) throw new Error('The document is no text: pass the option `print`, of the package graphql.')
  return { query: print(document as never), ...body }
}

/** Whether a document may write, by its text or its parsed operations. One of which only the id is known might. */
export function isMutation(document: string | object): boolean {
  const { definitions } = document as { readonly definitions?: readonly { readonly operation?: string }[] }
  if (definitions) return definitions.some(({ operation }) => operation === 'mutation')
  const text = typeof document === 'string' || document instanceof String ? String(document) : ''
  return !/[{]/.test(text) || /\bmutation\b/.test(text)
}

/**
 * Whether a page follows a document: a query with `@live`, by its parsed operations or its text. A server that renders pages reads it
 * once. Of a query that only seems to be live, the gateway sends one result.
 */
export function isLive(document: string | object): boolean {
  const { definitions } = document as {
    readonly definitions?: readonly { readonly directives?: readonly { readonly name: { readonly value: string } }[] }[]
  }
  const isFollowed = definitions
    ? definitions.some(({ directives = [] }) => directives.some(({ name }) => name.value === 'live'))
    : /@live\b/.test(String(document))
  return isFollowed && typeof window !== 'undefined'
}

/** The position after a result, in the log of events: an event names its own in its id. */
export function positionOf({ data, extensions }: Result): string | undefined {
  const ids = Object.values(data ?? {}).map((value) => (value as { id?: unknown } | null)?.id)
  const id = ids.find((each) => typeof each === 'string' && each.startsWith('evt_'))
  return (id as string | undefined) ?? extensions?.position
}

/** The request that continues after a position. A gateway ignores variables that a document does not have, so one without a text gets it too. */
export function continueAfter(request: GraphQLRequest, after: unknown): GraphQLRequest {
  const hasAfter = !request.query || /\$after\b/.test(request.query)
  return typeof after === 'string' && hasAfter ? { ...request, variables: { ...request.variables, after } } : request
}

/** The field that has an object of a type, such as that of Query which reads one by its id: `User` ⇒ `user`. */
export const fieldOf = (type: string): string => type.charAt(0).toLowerCase() + type.slice(1)
