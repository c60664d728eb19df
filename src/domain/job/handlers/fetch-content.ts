import { createLookup } from '../../../engine/network/lookup.ts'
import { type JobHandler, PermanentError } from '../worker/handler.ts'
import { readFeed } from './feed/read-feed.ts'
import { type FetchOptions, fetchLimited } from './fetch-limited.ts'

const limits = { timeoutMilliseconds: 10_000, maxBytes: 5 * 1024 * 1024, maxRedirects: 5 }

interface FetchContentOptions extends Pick<FetchOptions, 'allowPrivateNetworks' | 'userAgent'> {
  /** Instead of those of the system. */
  readonly nameServers?: readonly string[]
}

/**
 * Creates the handler of `fetch_content`: payload `{url}` ⇒ result `{contentIds, contentGroupIds}` of the feed at the
 * URL.
 *
 * @param options whether it may fetch from addresses that are not public, and how it names itself
 */
export function createFetchContent({ nameServers, ...options }: FetchContentOptions): JobHandler {
  const lookup = createLookup(nameServers)
  return async function fetchContent(payload: { url?: unknown } | null, { signal, progress }) {
    const url = payload?.url
    if (typeof url !== 'string' || !URL.canParse(url)) throw new PermanentError('The payload needs a url')
    progress(0, 'fetching')
    const feed = await fetchLimited(new URL(url), { ...limits, ...options, lookup }, signal)
    progress(0.5, 'reading')
    return readFeed(feed, signal)
  }
}
