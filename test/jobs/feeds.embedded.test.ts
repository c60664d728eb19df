import { describe, expect, it } from 'vitest'
import { readIds } from '../../src/domain/job/handlers/feed/feed.worker.ts'
import { readFeed } from '../../src/domain/job/handlers/fetch-content.ts'

const { signal } = new AbortController()

const bytesOf = (feed: string | Uint8Array) => (typeof feed === 'string' ? Buffer.from(feed) : feed)

/** Reads a feed as jobs do, in a thread of its own. */
const readInThread = (feed: string | Uint8Array, contentType?: string) =>
  readFeed({ bytes: bytesOf(feed), contentType }, signal)

/** Reads a feed as the thread does. A thread for each feed would take most of the time of this file. */
function read(feed: string | Uint8Array, contentType?: string) {
  const answer = readIds({ bytes: bytesOf(feed), contentType })
  if ('problem' in answer) throw new Error(answer.problem)
  return answer
}

const rss = (items: string, declaration = '') =>
  `${declaration}<rss version="2.0"><channel><link>https://feed.example/</link>${items}</channel></rss>`
const atom = (entries: string, namespace = 'http://www.w3.org/2005/Atom') =>
  `<feed xmlns="${namespace}"><id>feed</id>${entries}</feed>`
const atom03 = 'http://purl.org/atom/ns#'
const rdf = (items: string) =>
  `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel/>${items}</rdf:RDF>`
const json = (items: unknown) => JSON.stringify({ version: 'https://jsonfeed.org/version/1.1', items })

/** `Käse` in ISO-8859-1 and Russian in windows-1251. */
const latin = (text: string) => Buffer.from(text, 'latin1')
const cyrillic = (text: string) =>
  Buffer.from(
    [...text].map((character) => (character < '\u0410' ? character.charCodeAt(0) : character.charCodeAt(0) - 0x350)),
  )
const wide = (text: string) => Buffer.from(text, 'utf16le')

describe('a feed is decoded by', () => {
  const utf8 = '<?xml version="1.0" encoding="UTF-8"?>'
  it.each<[string, Uint8Array, string | undefined, string]>([
    [
      'its declaration',
      latin(rss('<item><guid>Käse</guid></item>', '<?xml version="1.0" encoding="ISO-8859-1"?>')),
      undefined,
      'Käse',
    ],
    [
      'its declaration',
      cyrillic(rss('<item><guid>Привет</guid></item>', "<?xml version='1.0' encoding='windows-1251'?>")),
      'text/xml',
      'Привет',
    ],
    ['the header', latin(rss('<item><guid>Käse</guid></item>')), 'text/xml; charset=iso-8859-1', 'Käse'],
    [
      'the header rather than its declaration',
      cyrillic(rss('<item><guid>Привет</guid></item>', utf8)),
      'text/xml; charset="Windows-1251"',
      'Привет',
    ],
    [
      'its byte order mark rather than the header',
      Buffer.from(`\uFEFF${rss('<item><guid>Käse</guid></item>')}`),
      'text/xml; charset=iso-8859-1',
      'Käse',
    ],
    [
      'UTF-16 with a mark',
      wide(`\uFEFF${rss('<item><guid>Käse</guid></item>', '<?xml version="1.0" encoding="UTF-16"?>')}`),
      undefined,
      'Käse',
    ],
    [
      'UTF-16 without a mark',
      wide(rss('<item><guid>Käse</guid></item>', '<?xml version="1.0" encoding="UTF-16"?>')),
      undefined,
      'Käse',
    ],
    ['UTF-16 big-endian', wide(`\uFEFF${rss('<item><guid>Käse</guid></item>')}`).swap16(), undefined, 'Käse'],
    [
      'UTF-8, if its declaration says UTF-16 and cannot',
      Buffer.from(rss('<item><guid>Käse</guid></item>', '<?xml version="1.0" encoding="UTF-16"?>')),
      undefined,
      'Käse',
    ],
    [
      'its declaration, if the header is wrong',
      latin(rss('<item><guid>Käse</guid></item>', '<?xml version="1.0" encoding="ISO-8859-1"?>')),
      'text/xml; charset=utf-8',
      'Käse',
    ],
    [
      'UTF-8, if the encoding is unknown',
      Buffer.from(rss('<item><guid>Käse</guid></item>')),
      'text/xml; charset=x-none',
      'Käse',
    ],
    ['the header of JSON', latin(json([{ id: 'Käse' }])), 'application/feed+json; charset=iso-8859-1', 'Käse'],
  ])('%s', (_by, bytes, contentType, id) => {
    expect(read(bytes, contentType).contentIds).toEqual([id])
  })

  it('is rejected if an id cannot be decoded, because two could become one', async () => {
    const items = '<item><guid>K\xe4se</guid></item><item><guid>K\xf6se</guid></item>'
    await expect(readInThread(latin(rss(items)))).rejects.toMatchObject({
      name: 'PermanentError',
      message: expect.stringContaining('An id in the feed cannot be decoded'),
    })
    expect(() => read(latin(rss(items)), 'text/xml; charset=x-none')).toThrow('The encoding x-none is unknown')
  })

  it('is read if only other text cannot be decoded', () => {
    const feed = latin(rss('<item><title>K\xe4se</title><guid>1</guid></item>'))
    expect(read(feed).contentIds).toEqual(['1'])
  })
})

describe('an item has the id', () => {
  it.each([
    [
      'of its link in Atom',
      atom('<entry><link rel="self" href="s"/><link href="https://a.example/1"/></entry>'),
      ['https://a.example/1'],
    ],
    [
      'of any link in Atom',
      atom('<entry><link rel="related" href="https://a.example/2"/></entry>'),
      ['https://a.example/2'],
    ],
    [
      'of its link in Atom 0.3',
      atom('<entry><link rel="related" href="r"/><link rel="alternate" href="https://a.example/0"/></entry>', atom03),
      ['https://a.example/0'],
    ],
    [
      'of the text of its link in Atom',
      atom('<entry><link rel="enclosure">e</link><link rel="alternate"> https://a.example/t </link></entry>'),
      ['https://a.example/t'],
    ],
    [
      'of the href of its link in RSS, if the link has no text',
      rss('<item><link href="https://a.example/h"/></item><item><link href="h">https://a.example/i</link></item>'),
      ['https://a.example/h', 'https://a.example/i'],
    ],
    [
      'outside the channel',
      '<rss version="0.91"><item><link>l1</link></item><channel><title>t</title></channel><item><guid>2</guid></item></rss>',
      ['l1', '2'],
    ],
    [
      'before the channel of RDF',
      '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><item xmlns="http://purl.org/rss/1.0/" r:about="urn:9"/></r:RDF>',
      ['urn:9'],
    ],
    [
      'with ampersands that begin no entity',
      rss('<item><guid>https://a.example/?a=1&b=2&amp;c=3&copy=4</guid></item>'),
      ['https://a.example/?a=1&b=2&c=3&copy=4'],
    ],
    [
      'of a link of Atom in RSS',
      rss('<item xmlns:a="http://www.w3.org/2005/Atom"><a:link href="https://a.example/3"/></item>'),
      ['https://a.example/3'],
    ],
    [
      'of its url in JSON',
      json([{ url: 'https://a.example/4' }, { external_url: 'https://a.example/5' }, { id: 6, url: 'u' }]),
      ['https://a.example/4', 'https://a.example/5', '6'],
    ],
    [
      'of rdf:about',
      rdf('<item rdf:about="urn:7"/><item rdf:about="urn:8"><link>https://a.example/8</link></item>'),
      ['urn:7', 'urn:8'],
    ],
    [
      'of its link, if others have the same id with other links',
      rss('<item><guid>N/A</guid><link>l1</link></item><item><guid>N/A</guid><link>l2</link></item>'),
      ['l1', 'l2'],
    ],
    [
      'that it has, if it comes twice',
      rss('<item><guid>1</guid><link>l1</link></item><item><guid>1</guid><link>l1</link></item>'),
      ['1'],
    ],
    [
      'after a title with a <',
      rss(
        '<item><title>a<b</title><guid>9</guid></item><item><title><![CDATA[a<b<c]]></title><guid>c<![CDATA[<d<e]]></guid></item>',
      ),
      ['9', 'c<d<e'],
    ],
  ])('%s', (_of, feed, contentIds) => {
    const result = read(feed)
    expect(result.contentIds).toEqual(contentIds)
    expect(result).not.toHaveProperty('itemsWithoutId')
  })

  it('of no entity that the feed declares', () => {
    const items = '<item><guid>a&own;b</guid><link>l1</link></item><item><guid>&amp;own;&constructor;</guid></item>'
    const feed = rss(items, '<!DOCTYPE rss [<!ENTITY own "x"><!ENTITY other SYSTEM "file:///etc/passwd">]>')
    expect(read(feed).contentIds).toEqual(['l1', '&own;&constructor;'])
  })

  it('or is counted', async () => {
    expect(await readInThread(rss('<item><title>t</title></item><item/><item><guid>1</guid></item>'))).toEqual({
      contentIds: ['1'],
      contentGroupIds: ['https://feed.example/'],
      itemsWithoutId: 2,
    })
  })
})

it.each([
  ['of Atom 0.3 has the id of its link', `<feed xmlns="${atom03}"><link href="https://a.example/"/></feed>`],
  [
    'of RSS has the id of a link of Atom',
    '<rss xmlns:a="http://www.w3.org/2005/Atom"><channel><a:link rel="hub" href="h"/><a:link href="https://a.example/"/></channel></rss>',
  ],
  [
    'of RSS has the id of its own link rather than of one of Atom',
    '<rss xmlns:a="http://www.w3.org/2005/Atom"><channel><a:link href="a"/><link>https://a.example/</link></channel></rss>',
  ],
])('a feed %s', (_, feed) => {
  expect(read(feed).contentGroupIds).toEqual(['https://a.example/'])
})

it('unclosed tags are rejected before they take much time or memory', async () => {
  const tags = rss('<a>'.repeat(20_000))
  expect(() => read(tags)).toThrow('nested too deep')
  await expect(readInThread(tags)).rejects.toMatchObject({
    name: 'PermanentError',
    message: 'The URL did not answer with an RSS, Atom or JSON feed',
  })
})

it('tags that the texts of items leave open are accepted', () => {
  const items = ['1', '2', '3'].map((id) => {
    return `<item><description>${'line<br>'.repeat(5_000)}</description><guid>${id}</guid></item>`
  })
  expect(read(rss(items.join(''))).contentIds).toEqual(['1', '2', '3'])
})

it('a thread may use a time of the CPU, not of the clock', async () => {
  const items = Array.from({ length: 60_000 }, (_, index) => `<item><guid>${index}</guid></item>`)
  const limits = { cpuSeconds: 0.01, memoryMib: 256 }
  await expect(readFeed({ bytes: Buffer.from(rss(items.join(''))) }, signal, limits)).rejects.toMatchObject({
    name: 'PermanentError',
    message: 'Parsing the feed takes more than 0.01 s of CPU time',
  })
})
