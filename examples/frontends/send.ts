import { patientFetch } from './patient-fetch.ts'
import type { Tokens } from './tokens.ts'

/** Sends an operation. Returns its data; a field that failed is null. Throws if there is no data. */
export type Send = <Data>(query: string, variables?: object, signal?: AbortSignal) => Promise<Data>

/** Creates the function that sends operations with `fetch` alone, and renews a token that is rejected. */
export function createSend(url: string, tokens: Tokens): Send {
  return async (query, variables = {}, signal) => {
    // One key for the request and its retry. Queries ignore it.
    const idempotencyKey = crypto.randomUUID()
    const post = (token: string) =>
      patientFetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${token}`,
          'idempotency-key': idempotencyKey,
        },
        body: JSON.stringify({ query, variables }),
        signal: signal ?? null,
      })
    let response = await post(await tokens.current())
    if (response.status === 401) response = await post(await tokens.renew())
    const { data, errors } = await response.json()
    if (!data) throw new Error(errors[0].message)
    return data
  }
}
