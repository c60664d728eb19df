// Sends operations to /graphql, as any client does.

import type { Document } from './document.ts'
import { Failure, type FailureKind, failureOf } from './failure.ts'
import { recordOperation } from './operations.ts'
import { root } from './router.ts'
import { headersOf, signOut } from './session.ts'

export interface GraphQLError {
  readonly message: string
  readonly extensions?: { readonly code?: string }
}

export interface GraphQLResponse<Data> {
  readonly data?: Data | null
  readonly errors?: readonly GraphQLError[]
  readonly extensions?: { readonly live?: { readonly revision: number } }
}

export interface RunOptions {
  /** By default that of the session. */
  readonly credential?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** By the code of the error, or by the status if a proxy responds. */
const kinds = new Map<string | number, FailureKind>([
  ['UNAUTHENTICATED', 'unauthenticated'],
  ['FORBIDDEN', 'forbidden'],
  ['RATE_LIMITED', 'limited'],
  ['SERVICE_UNAVAILABLE', 'unavailable'],
  // The window has slept.
  ['REQUEST_TIMEOUT', 'unavailable'],
  [401, 'unauthenticated'],
  [403, 'forbidden'],
  [429, 'limited'],
  [502, 'unavailable'],
  [503, 'unavailable'],
])
const jsonType = 'application/graphql-response+json'

/** Sends a request. @throws Failure unless its status is 200 */
export async function send(
  query: string,
  variables: unknown,
  { accept = jsonType, credential, signal }: RunOptions & { readonly accept?: string } = {},
): Promise<Response> {
  const response = await fetch(`${root}graphql`, {
    method: 'POST',
    headers: {
      ...headersOf(credential),
      accept,
      'content-type': 'application/json',
      'graphql-client-name': 'console',
    },
    body: JSON.stringify({ query, variables }),
    signal: signal ?? null,
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new Failure('unreachable', '')
  })
  if (response.ok) return response
  const body: GraphQLResponse<unknown> = await response.json().catch(() => ({}))
  throw rejectionOf(response, body.errors)
}

/** Why a response with errors failed. */
export function rejectionOf({ status, headers }: Response, errors: readonly GraphQLError[] = []): Failure {
  const [error] = errors
  const kind = kinds.get(error?.extensions?.code ?? status) ?? 'failed'
  return new Failure(kind, error?.message ?? `The gateway responded with the status ${status}.`, {
    retryAfter: Number(headers.get('retry-after')) || undefined,
    requestId: headers.get('x-request-id') ?? undefined,
  })
}

/** Runs a query or a mutation. Returns its data. @throws Failure */
export async function run<Data, Variables>(
  query: Document<Data, Variables>,
  variables: NoInfer<Variables>,
  options: RunOptions = {},
): Promise<Data> {
  const finish = recordOperation(query, variables)
  try {
    const response = await send(query, variables, options)
    const { data, errors }: GraphQLResponse<Data> = await response.json()
    finish(response.headers)
    if (errors || !data) throw rejectionOf(response, errors)
    return data
  } catch (error) {
    finish()
    const isUnauthenticated = failureOf(error).kind === 'unauthenticated'
    if (isUnauthenticated && options.credential === undefined) signOut('Your key is no longer valid.')
    throw error
  }
}

interface Payload {
  readonly userErrors: readonly { readonly field: readonly string[] | null; readonly message: string }[]
}

/** Runs a mutation. Returns its payload. @throws Failure, of the kind `input` if the input was rejected */
export async function mutate<Data extends Readonly<Record<string, Payload>>, Input>(
  mutation: Document<Data, { input: Input }>,
  input: NoInfer<Input>,
): Promise<Data[keyof Data]> {
  const [payload] = Object.values(await run(mutation, { input })) as Data[keyof Data][]
  if (payload === undefined) throw new Failure('failed', 'The gateway sent no payload.')
  const errors = payload.userErrors.map(({ field, message }) => `${field?.join('.') ?? ''} ${message}`)
  if (errors.length > 0) throw new Failure('input', errors.join('. '))
  return payload
}
