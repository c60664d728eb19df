const bytes = 8 * 1024 * 1024

const rss = (content, doctype = '') =>
  `<?xml version="1.0"?>${doctype}<rss version="2.0"><channel><title>t</title><link>l</link>${content}</channel></rss>`
const one = '<item><guid>1</guid></item>'
const inItem = (content) => rss(`<item><guid>1</guid><title>${content}</title></item>`)
const times = (count, create) => Array.from({ length: count }, (_, index) => create(index)).join('')
const filled = (text) => text.repeat(bytes / text.length)

/**
 * Large and hostile feeds, by their names. All but the entities have 8 MiB or a million of what they are named after.
 */
export const inputs = {
  'long items': () =>
    rss(
      times(
        8_000,
        (index) => `${item(index)}<description><![CDATA[${'Lorem ipsum '.repeat(70)}]]></description></item>`,
      ),
    ),
  'short items': () => rss(times(75_000, (index) => `${item(index)}</item>`)),
  'entities in entities': () => {
    const declared = times(9, (level) => `<!ENTITY e${level + 1} "${`&e${level};`.repeat(10)}">`)
    return rss('<item><guid>&e9;</guid></item>', `<!DOCTYPE rss [<!ENTITY e0 "lol">${declared}]>`)
  },
  'a long entity': () =>
    rss(`<item><guid>${'&e;'.repeat(200_000)}</guid></item>`, `<!DOCTYPE rss [<!ENTITY e "${'x'.repeat(50_000)}">]>`),
  'many entities': () => rss(one, `<!DOCTYPE rss [${times(300_000, (index) => `<!ENTITY e${index} "v">`)}]>`),
  'nested tags': () => rss(one + '<a>'.repeat(bytes / 7) + '</a>'.repeat(bytes / 7)),
  'unclosed tags': () => rss(one + filled('<a>')),
  'tags closed by others': () => rss(one + '<a>'.repeat(bytes / 7) + '</b>'.repeat(bytes / 7)),
  attributes: () => rss(`<item ${times(1_000_000, (index) => `a${index}="" `)}><guid>1</guid></item>`),
  namespaces: () => rss(one + times(250_000, (index) => `<n xmlns:a${index}="u">`)),
  '<<<': () => inItem(filled('<')),
  '<a <a': () => inItem(filled('<a ')),
  '<![CDATA[<![CDATA[': () => inItem(filled('<![CDATA[')),
  '<!--<!--': () => inItem(filled('<!--')),
  '&&&': () => inItem(filled('&')),
  '<!ENTITY <!ENTITY': () => rss(one, `<!DOCTYPE rss [${filled('<!ENTITY ')}]>`),
  spaces: () => `${filled(' ')}x`,
  'nested JSON': () =>
    `{"version":"https://jsonfeed.org/version/1.1","items":${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}}`,
}

function item(index) {
  return `<item><title>Title ${index}</title><link>https://example.com/${index}</link><guid>urn:item:${index}</guid>`
}
