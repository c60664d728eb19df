import { createRequire } from 'node:module'
import path from 'node:path'
import { Readable } from 'node:stream'
import { readJsonFeed } from '../../src/domain/job/handlers/feed/feed.worker.ts'
import { readXmlFeed } from '../../src/domain/job/handlers/feed/read-xml-feed.ts'

/** The names of the readers: the project's, and packages. */
export const readerNames = [
  'ours',
  'feedsmith',
  '@rowanmanning/feed-parser',
  'feedparser',
  'rss-parser',
  '@extractus/feed-extractor',
]

const itemsOf = (items, idOf, linkOf) => (items ?? []).map((item) => ({ id: idOf(item), link: linkOf(item) }))

function linkIn(links = []) {
  return (links.find(({ rel = 'alternate', href }) => href && rel === 'alternate') ?? links.find(({ href }) => href))
    ?.href
}

/** Each reader of decoded text, by its name: what the handler needs of a feed, `{items: [{id, link}], groups}`. */
const readers = {
  ours: () => (text) => (/^\s*\{/.test(text) ? readJsonFeed(text) : readXmlFeed(text)),
  feedsmith:
    ({ parseFeed }) =>
    (text) => {
      const { format, feed } = parseFeed(text)
      if (format === 'json') {
        const items = itemsOf(
          feed.items,
          ({ id }) => id,
          (item) => item.url ?? item.external_url,
        )
        return { items, groups: [feed.feed_url ?? feed.home_page_url] }
      }
      if (format === 'atom') {
        const items = itemsOf(
          feed.entries,
          ({ id }) => id,
          ({ links }) => linkIn(links),
        )
        return { items, groups: [feed.id ?? linkIn(feed.links)] }
      }
      const items = itemsOf(
        feed.items,
        ({ guid, rdf }) => guid?.value ?? rdf?.about,
        ({ link, atom }) => link ?? linkIn(atom?.links),
      )
      return { items, groups: [feed.link] }
    },
  '@rowanmanning/feed-parser':
    ({ parseFeed }) =>
    (text) => {
      const feed = parseFeed(text)
      const items = itemsOf(
        feed.items,
        ({ id }) => id,
        ({ url }) => url,
      )
      return { items, groups: [feed.url ?? feed.self] }
    },
  feedparser: (FeedParser) => async (text) => {
    const parser = Readable.from([Buffer.from(text)]).pipe(new FeedParser({ addmeta: false }))
    const items = []
    for await (const { guid, origlink, link } of parser) items.push({ id: guid, link: origlink ?? link })
    return { items, groups: [parser.meta?.link] }
  },
  'rss-parser': (Parser) => async (text) => {
    const feed = await new Parser().parseString(text)
    const items = itemsOf(
      feed.items,
      ({ guid, id, ...item }) => guid ?? id ?? item['rdf:about'],
      ({ link }) => link,
    )
    return { items, groups: [feed.link] }
  },
  '@extractus/feed-extractor':
    ({ extractFromXml, extractFromJson }) =>
    (text) => {
      const feed = /^\s*\{/.test(text) ? extractFromJson(JSON.parse(text)) : extractFromXml(text)
      const items = itemsOf(
        feed.entries,
        ({ id }) => id,
        ({ link }) => link,
      )
      return { items, groups: [feed.link] }
    },
}

/**
 * Creates a reader of decoded text.
 *
 * @param {string} name one of `readerNames`
 * @param {string} packages a folder in which the packages are installed
 */
export async function createReader(name, packages) {
  return readers[name](name === 'ours' ? undefined : createRequire(path.resolve(packages, 'index.js'))(name))
}
