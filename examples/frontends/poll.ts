import { patientFetch } from './patient-fetch.ts'
import type { Tokens } from './tokens.ts'

/**
 * Creates a function that reads a resource of the REST interface, and returns undefined while it is the same as before. Pages need
 * only `fetch`: browsers send the tag by themselves.
 */
export function createPoll(url: string, tokens: Tokens): () => Promise<unknown> {
  let tag: string | undefined
  return async () => {
    const headers = { authorization: `Bearer ${await tokens.current()}`, ...(tag && { 'if-none-match': tag }) }
    const response = await patientFetch(url, { headers })
    if (response.status === 304) return undefined
    if (!response.ok) throw new Error(`${url} answered ${response.status}`)
    tag = response.headers.get('etag') ?? undefined
    return response.json()
  }
}
