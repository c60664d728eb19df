import sax, { type QualifiedTag } from 'sax'
import type { Feed } from './feed-item.ts'

/** An element that is open. Its text is that of the element itself, without its children's. */
interface Element {
  readonly name: string
  /** The relation of a link whose address is its text. */
  readonly rel?: string | undefined
  text: string
}

interface Item {
  id?: string
  /** The address in RDF, which identifies the item. */
  about?: string | undefined
  link?: string
  /** The first link by an attribute or in Atom, and the first one of them to the item itself. */
  anyLink?: string
  ownLink?: string
}

/** The element that contains a feed's own fields, by the root element. */
const feedElements: ReadonlyMap<string, string> = new Map([
  ['feed', 'feed'],
  ['rss', 'channel'],
  ['rdf', 'channel'],
])

const atom = 'http://www.w3.org/2005/Atom'

/** How deep elements may be nested: the parser's time and memory grow with the depth at every tag. */
const maxDepth = 10_000

/** Stands for an entity that the document declares, which is not expanded. XML has no such character. */
const declaredEntity = '\uFFFF'

/**
 * Reads an RSS, Atom or RDF feed. Elements of other namespaces are ignored, except the links of Atom in RSS. Like feed
 * readers do, it accepts XML that is not well-formed, if its root element ends, and items of RSS outside the channel.
 *
 * @throws Error if the text is no such feed, incomplete, or nested too deep
 */
export function readXmlFeed(text: string): Feed {
  const parser = sax.parser(false, { xmlns: true, lowercase: true })
  const [items, groups] = [[], []] as [Item[], string[]]
  const open: Element[] = []
  let root: string | undefined
  let namespace: string | undefined
  let linkOfFeed: string | undefined

  const addLink = (href: string | undefined, rel: string | undefined) => {
    const parent = open.at(-1)?.name
    const item = items.at(-1)
    if (href === undefined || rel === undefined) return
    if (parent === 'feed' || (parent === 'channel' && rel === 'alternate')) linkOfFeed ??= href
    if (!item || (parent !== 'item' && parent !== 'entry')) return
    item.anyLink ??= href
    if (rel === 'alternate') item.ownLink ??= href
  }
  parser.ondoctype = (doctype) => {
    for (const [, name = ''] of doctype.matchAll(/<!ENTITY\s+([^\s%"']+)/g)) {
      // The object belongs to this parser, and has no prototype.
      Reflect.set(parser.ENTITIES, name, declaredEntity)
    }
  }
  parser.onopentag = (tag) => {
    const { local, uri, attributes } = tag as QualifiedTag
    root ??= local
    if (open.length === maxDepth) throw new Error('The elements of the feed are nested too deep')
    // The root element of RDF has another namespace than what is in it. A feed can have items before its channel, and
    // no channel.
    if (local === feedElements.get(root) || local === 'item') namespace ??= uri
    const name = uri === namespace ? local : ''
    const isLink = local === 'link' && (uri === namespace || uri === atom)
    const href = idIn(attributes['href']?.value)
    const rel = isLink ? (attributes['rel']?.value ?? 'alternate') : undefined
    if (name === 'item' || name === 'entry') {
      const about = Object.values(attributes).find((attribute) => attribute.local === 'about')
      items.push({ about: idIn(about?.value) })
    } else if (name === 'source' && attributes['url']) {
      groups.push(attributes['url'].value.trim())
    }
    addLink(href, rel)
    open.push({ name, rel: href === undefined ? rel : undefined, text: '' })
  }
  parser.ontext = (part) => addText(open, part)
  parser.oncdata = (part) => addText(open, part)
  parser.onclosetag = () => {
    const element = open.pop()
    const parent = open.at(-1)?.name
    const value = idIn(element?.text)
    if (!element || value === undefined) return
    addLink(value, element.rel)
    const item = items.at(-1)
    const isId = element.name === 'id' || element.name === 'guid'
    if ((parent === 'feed' && isId) || (parent === 'source' && isId)) groups.push(value)
    else if (parent === 'channel' && element.name === 'link') groups.unshift(value)
    else if (item && (parent === 'item' || parent === 'entry') && isId) item.id = value
    else if (item && parent === 'item' && element.name === 'link') item.link = value
  }
  parser.write(escapeTextLikeTags(text))
  if (root === undefined || !feedElements.has(root) || open.length > 0) {
    throw new Error('The text is not a complete feed')
  }
  parser.close()
  return {
    items: items.map(({ id, about, link, ownLink, anyLink }) => ({
      id: id ?? about,
      link: link ?? ownLink ?? anyLink,
    })),
    groups: groups.length > 0 ? groups : [linkOfFeed],
  }
}

/** The text of an id or a link; undefined if it is empty, or has an entity that is not expanded. */
function idIn(text = ''): string | undefined {
  const trimmed = text.trim()
  return trimmed === '' || trimmed.includes(declaredEntity) ? undefined : trimmed
}

function addText(open: readonly Element[], part: string): void {
  const element = open.at(-1)
  if (element) element.text += part
}

/**
 * Escapes what begins like a tag and is text, because another tag begins before it ends: `<title>a<b</title>` ⇒
 * `<title>a&lt;b</title>`. The
 * parser would read `</title>` as attributes of `<b`. CDATA sections stay unchanged.
 */
function escapeTextLikeTags(text: string): string {
  return text.replaceAll(/<!\[CDATA\[[\s\S]*?(?:\]\]>|$)|<(?=[A-Za-z_][^<>"']*<)/g, (found) =>
    found === '<' ? '&lt;' : found,
  )
}
