import type { Send } from '@fusion-gateway/client/fetch'

/**
 * Creates a function that reads a resource of the REST interface, and returns undefined while it is the same as before. Pages need
 * only `fetch`: browsers send the tag by themselves.
 */
export function createPoll(url: string, { core }: Send): () => Promise<unknown> {
  let tag: string | undefined
  return async () => {
    const response = await core.fetch(url, { headers: tag ? { 'if-none-match': tag } : {} })
    if (response.status === 304) return undefined
    if (!response.ok) throw new Error(`${url} answered ${response.status}`)
    tag = response.headers.get('etag') ?? undefined
    return response.json()
  }
}
