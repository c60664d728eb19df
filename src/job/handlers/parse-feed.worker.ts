import { parentPort, workerData } from 'node:worker_threads'
import { parseFeed } from 'feedsmith'

/** The ids of a feed's items, and of the feeds that they belong to. */
export interface FeedIds {
  readonly contentIds: readonly string[]
  readonly contentGroupIds: readonly string[]
}

type MaybeId = string | undefined

/** Reads the ids of an RSS, Atom, RDF or JSON feed. The link replaces the id of an item without one, and of an RSS channel. */
function readIds(text: string): FeedIds {
  const { items, groups } = findIds(text)
  return { contentIds: unique(items), contentGroupIds: unique(groups) }
}

function findIds(text: string): { items: MaybeId[]; groups: MaybeId[] } {
  const parsed = parseFeed(text)
  switch (parsed.format) {
    case 'atom': {
      const { id, entries = [] } = parsed.feed
      return { items: entries.map((entry) => entry.id), groups: [id, ...entries.map(({ source }) => source?.id)] }
    }
    case 'json': {
      const { feed_url: feedUrl, home_page_url: homePage, items = [] } = parsed.feed
      return { items: items.map(({ id }) => id), groups: [feedUrl ?? homePage] }
    }
    case 'rss': {
      const { link, items = [] } = parsed.feed
      return {
        items: items.map((item) => item.guid?.value ?? item.link),
        groups: [link, ...items.map(({ source }) => source?.url)],
      }
    }
    case 'rdf': {
      const { link, items = [] } = parsed.feed
      return { items: items.map((item) => item.link), groups: [link] }
    }
  }
}

function unique(ids: readonly MaybeId[]): string[] {
  return [...new Set(ids.filter((id): id is string => id !== undefined && id !== ''))]
}

parentPort?.postMessage(readIds(String(workerData)))
