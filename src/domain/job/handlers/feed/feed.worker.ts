import { parentPort, workerData } from 'node:worker_threads'
import { type Feed, type FeedIds, idsOf } from './feed-item.ts'
import { readXmlFeed } from './read-xml-feed.ts'

/** A text, and whether all of its bytes could be decoded. Otherwise it has U+FFFD in their places. */
interface DecodedText {
  readonly text: string
  readonly isExact: boolean
}

/** Byte order marks, and the encodings that they stand for. */
const marks: readonly (readonly [readonly number[], string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xfe, 0xff], 'utf-16be'],
  [[0xff, 0xfe], 'utf-16le'],
]

/** The beginnings of XML in UTF-16 without a byte order mark. */
const wideBeginnings: typeof marks = [
  [[0, 0x3c], 'utf-16be'],
  [[0x3c, 0], 'utf-16le'],
]

/**
 * Decodes a text by its byte order mark or, without one, by the first of these that fits its bytes: the charset of the
 * header `content-type`, the encoding that its XML declaration names, UTF-8.
 *
 * @throws Error if nothing fits and an encoding that is named is unknown
 * @see https://www.rfc-editor.org/rfc/rfc7303#section-3
 */
export function decodeText(bytes: Uint8Array, contentType = ''): DecodedText {
  const marked = encodingAtStart(bytes, marks)
  const labels = marked === undefined ? [charsetOf(contentType), declaredEncoding(bytes), 'utf-8'] : [marked]
  let closest: TextDecoder | undefined
  let unknown: string | undefined
  for (const label of labels) {
    if (label === undefined) continue
    const decoder = createDecoder(label)
    if (!decoder) unknown ??= label
    closest ??= decoder
    const text = decoder && decodeExactly(decoder, bytes)
    if (text !== undefined) return { text, isExact: true }
  }
  if (unknown !== undefined) throw new Error(`The encoding ${unknown.slice(0, 50)} is unknown`)
  return { text: new TextDecoder(closest?.encoding).decode(bytes), isExact: false }
}

function encodingAtStart(bytes: Uint8Array, beginnings: typeof marks): string | undefined {
  return beginnings.find(([beginning]) => beginning.every((byte, index) => bytes[index] === byte))?.[1]
}

/** `text/xml; charset="windows-1251"` ⇒ `windows-1251` */
function charsetOf(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1]
}

/**
 * The encoding in an XML declaration. A declaration that can be read byte by byte is not in UTF-16, whatever it says.
 */
function declaredEncoding(bytes: Uint8Array): string | undefined {
  const wide = encodingAtStart(bytes, wideBeginnings)
  if (wide !== undefined) return wide
  const beginning = Buffer.from(bytes.subarray(0, 400)).toString('latin1')
  const label = /^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']\s*([^\s"']+)/i.exec(beginning)?.[1]
  return label !== undefined && /^utf-?16/i.test(label) ? undefined : label
}

/** Returns undefined if the platform does not know the encoding. */
function createDecoder(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label, { fatal: true })
  } catch {
    return undefined
  }
}

/** Returns undefined if the bytes are not in the encoding. */
function decodeExactly(decoder: TextDecoder, bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

export interface FeedBytes {
  readonly bytes: Uint8Array
  readonly contentType?: string | undefined
}

export type FeedAnswer = FeedIds | { readonly problem: string }

/** @throws Error if the text is no feed */
export function readIds({ bytes, contentType }: FeedBytes): FeedAnswer {
  let decoded: ReturnType<typeof decodeText>
  try {
    decoded = decodeText(bytes, contentType)
  } catch (error) {
    return { problem: (error as Error).message }
  }
  const { text, isExact } = decoded
  const ids = idsOf(/^\s*\{/.test(text) ? readJsonFeed(text) : readXmlFeed(text))
  const isUndecoded = (id: string) => !isExact && id.includes('\uFFFD')
  // Two ids with different bytes could become one.
  if ([...ids.contentIds, ...ids.contentGroupIds].some(isUndecoded)) {
    return { problem: 'An id in the feed cannot be decoded: its bytes are not in the encoding of the feed' }
  }
  return ids
}

parentPort?.postMessage(readIds(workerData as FeedBytes))

/** @throws Error if the text is no JSON Feed. @see https://www.jsonfeed.org/version/1.1/ */
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
