import { parentPort, workerData } from 'node:worker_threads'
import { type FoundIds, readXmlFeed } from './xml-feed.ts'

/** The ids of a feed's items, and of the feeds that they belong to. */
export interface FeedIds {
  readonly contentIds: readonly string[]
  readonly contentGroupIds: readonly string[]
}

/** Reads the ids of an RSS, Atom, RDF or JSON feed. The link replaces the id of an item without one, and of an RSS channel. */
function readIds(text: string): FeedIds {
  const { items, groups } = /^\s*\{/.test(text) ? readJsonFeed(text) : readXmlFeed(text)
  return { contentIds: unique(items), contentGroupIds: unique(groups) }
}

/**
 * @throws Error if the text is no JSON Feed
 * @see https://www.jsonfeed.org/version/1.1/
 */
function readJsonFeed(text: string): FoundIds {
  const { version, items, feed_url: feedUrl, home_page_url: homePage } = JSON.parse(text) as Record<string, unknown>
  if (!String(version).includes('jsonfeed.org/version/')) throw new Error('The JSON is no feed')
  const entries: unknown[] = Array.isArray(items) ? items : []
  const ids = entries.map((item) => idOf((item as { readonly id?: unknown } | null)?.id))
  return { items: ids, groups: [idOf(feedUrl) ?? idOf(homePage)] }
}

/** Publishers write numbers too, although the specification asks for strings. */
function idOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

function unique(ids: readonly (string | undefined)[]): string[] {
  return [...new Set(ids.filter((id): id is string => id !== undefined && id !== ''))]
}

parentPort?.postMessage(readIds(String(workerData)))
