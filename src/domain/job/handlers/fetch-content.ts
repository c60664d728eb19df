import { type JobHandler, PermanentError } from '../worker/handler.ts'
import { fetchLimited } from './fetch-limited.ts'
import { readFeed } from './read-feed.ts'

const limits = { timeoutMilliseconds: 10_000, maxBytes: 5 * 1024 * 1024, maxRedirects: 5 }

/**
 * Creates the handler of `fetch_content`: payload `{url}` ⇒ result `{contentIds, contentGroupIds}` of the feed at the URL.
 *
 * @param allowPrivateNetworks whether it may fetch from addresses that are not public
 */
export function createFetchContent({ allowPrivateNetworks }: { allowPrivateNetworks: boolean }): JobHandler {
  return async function fetchContent(payload: { url?: unknown } | null, { signal, progress }) {
    const url = payload?.url
    if (typeof url !== 'string' || !URL.canParse(url)) throw new PermanentError('The payload needs a url')
    progress(0, 'fetching')
    const text = await fetchLimited(new URL(url), { ...limits, allowPrivateNetworks }, signal)
    progress(0.5, 'reading')
    return readFeed(text, signal)
  }
}
