import { parentPort, workerData } from 'node:worker_threads'
import sax, { type QualifiedTag } from 'sax'

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

/** The ids in a feed, in their order and with duplicates. */
interface FoundIds {
  readonly items: (string | undefined)[]
  readonly groups: (string | undefined)[]
}

/** An element that is open. Its text is that of the element itself, without its children's. */
interface Element {
  readonly name: string
  text: string
}

interface Item {
  id?: string
  link?: string
}

/** The element that contains a feed's own fields, by the root element. */
const feedElements: Readonly<Record<string, string>> = { feed: 'feed', rss: 'channel', rdf: 'channel' }

/**
 * Reads the ids of an RSS, Atom or RDF feed. Elements of other namespaces, such as `<atom:link>` in RSS, are ignored. Like feed readers do,
 * it accepts XML that is not well-formed, if its root element ends.
 *
 * @throws Error if the text is no such feed, or incomplete
 */
function readXmlFeed(text: string): FoundIds {
  const parser = sax.parser(false, { xmlns: true, lowercase: true })
  const [items, groups] = [[], []] as [Item[], string[]]
  const open: Element[] = []
  let root: string | undefined
  let namespace: string | undefined

  parser.onopentag = (tag) => {
    const { local, uri, attributes } = tag as QualifiedTag
    root ??= local
    // The root element of RDF has another namespace than what is in it.
    if (local === feedElements[root]) namespace ??= uri
    const name = uri === namespace ? local : ''
    if (name === 'item' || name === 'entry') items.push({})
    if (name === 'source' && attributes['url']) groups.push(attributes['url'].value.trim())
    open.push({ name, text: '' })
  }
  parser.ontext = (part) => addText(open, part)
  parser.oncdata = (part) => addText(open, part)
  parser.onclosetag = () => {
    const element = open.pop()
    const parent = open.at(-1)?.name
    const value = element?.text.trim()
    if (!element || !value) return
    const item = items.at(-1)
    const isId = element.name === 'id' || element.name === 'guid'
    if ((parent === 'feed' && isId) || (parent === 'source' && isId)) groups.push(value)
    else if (parent === 'channel' && element.name === 'link') groups.unshift(value)
    else if (item && (parent === 'item' || parent === 'entry') && isId) item.id = value
    else if (item && parent === 'item' && element.name === 'link') item.link = value
  }
  parser.write(text)
  if (root === undefined || !feedElements[root] || open.length > 0) throw new Error('The text is not a complete feed')
  parser.close()
  return { items: items.map(({ id, link }) => id ?? link), groups }
}

function addText(open: readonly Element[], part: string): void {
  const element = open.at(-1)
  if (element) element.text += part
}

parentPort?.postMessage(readIds(String(workerData)))
