// Sends operations to /graphql, as any client does.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { recordOperation } from './operations.js'
import { headersOf, signOut } from './session.js'

/** An operation that failed, with what the visitor can do about it. */
export class Failure extends Error {
  constructor(kind, message, { retryAfter, requestId } = {}) {
    super(message)
    /** `unauthenticated`, `forbidden`, `limited`, `unavailable`, `unreachable`, `input` or `failed`. */
    this.kind = kind
    /** In seconds. */
    this.retryAfter = retryAfter
    this.requestId = requestId
  }
}

/** By the code of the error, or by the status if a proxy responds. */
const kinds = {
  UNAUTHENTICATED: 'unauthenticated',
  FORBIDDEN: 'forbidden',
  RATE_LIMITED: 'limited',
  SERVICE_UNAVAILABLE: 'unavailable',
  ...{ 401: 'unauthenticated', 403: 'forbidden', 429: 'limited', 502: 'unavailable', 503: 'unavailable' },
}
const jsonType = 'application/graphql-response+json'

/** Sends a request. @throws Failure unless its status is 200 */
export async function send(query, variables, { accept = jsonType, credential, signal } = {}) {
  const response = await fetch('/graphql', {
    method: 'POST',
    headers: {
      ...headersOf(credential),
      ...{ accept, 'content-type': 'application/json', 'graphql-client-name': 'console' },
    },
    body: JSON.stringify({ query, variables }),
    signal,
  }).catch((error) => {
    if (signal?.aborted) throw error
    throw new Failure('unreachable', '')
  })
  if (response.ok) return response
  const body = await response.json().catch(() => ({}))
  throw failureOf(response, body.errors)
}

function failureOf({ status, headers }, [error] = []) {
  const kind = kinds[error?.extensions?.code ?? status] ?? 'failed'
  return new Failure(kind, error?.message ?? `The gateway responded with the status ${status}.`, {
    retryAfter: Number(headers.get('retry-after')) || undefined,
    requestId: headers.get('x-request-id') ?? undefined,
  })
}

/** Runs a query or a mutation. Returns its data. @throws Failure */
export async function run(query, variables = {}, options = {}) {
  const finish = recordOperation(query, variables)
  try {
    const response = await send(query, variables, options)
    const { data, errors } = await response.json()
    finish(response.headers)
    if (errors) throw failureOf(response, errors)
    return data
  } catch (error) {
    finish()
    if (error.kind === 'unauthenticated' && options.credential === undefined) signOut('Your key is no longer valid.')
    throw error
  }
}

/** Runs a mutation. Returns the fields of its payload. @throws Failure, of the kind `input` if the input was rejected */
export async function mutate(name, fields, input) {
  const title = name.charAt(0).toUpperCase() + name.slice(1)
  const query = `mutation ${title}($input: ${title}Input!) {
  ${name}(input: $input) { ${fields} userErrors { field message } }
}`
  const { userErrors, ...payload } = (await run(query, { input }))[name]
  if (userErrors.length === 0) return payload
  throw new Failure('input', userErrors.map(({ field, message }) => `${field?.join('.') ?? ''} ${message}`).join('. '))
}

/**
 * Runs a query, again if its variables or the version change, and on `reload`. The data of the last response stays until the next one,
 * unless the variables differ.
 */
export function useQuery(query, variables, version) {
  const key = JSON.stringify([query, variables])
  const [state, setState] = useState({ key })
  const latest = useRef(0)
  const reload = useCallback(async () => {
    latest.current += 1
    const mine = latest.current
    const next = await run(query, variables).then(
      (data) => ({ key, data }),
      (failure) => ({ key, failure }),
    )
    if (mine === latest.current) setState(next)
  }, [key])
  useEffect(() => {
    reload()
    return () => {
      latest.current += 1
    }
  }, [reload, version])
  return state.key === key ? { ...state, reload } : { reload }
}
