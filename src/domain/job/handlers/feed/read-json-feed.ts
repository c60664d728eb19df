import type { Feed } from './feed-item.ts'

/**
 * Reads a JSON Feed.
 *
 * @throws Error if the text is no JSON Feed
 * @see https://www.jsonfeed.org/version/1.1/
 */
export function readJsonFeed(text: string): Feed {
  const { version, items, feed_url: feedUrl, home_page_url: homePage } = JSON.parse(text) as Record<string, unknown>
  if (!String(version).includes('jsonfeed.org/version/')) throw new Error('The JSON is no feed')
  const entries: unknown[] = Array.isArray(items) ? items : []
  return {
    items: entries.map((entry) => {
      const { id, url, external_url: external } = Object(entry) as Record<string, unknown>
      return { id: idOf(id), link: idOf(url) ?? idOf(external) }
    }),
    groups: [idOf(feedUrl) ?? idOf(homePage)],
  }
}

/** Publishers write numbers too, although the specification asks for strings. */
function idOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}
