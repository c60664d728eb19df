/** An entry of a header: `text/*;q=0.5` ⇒ `{ range: 'text/*', quality: 0.5 }`. */
interface Entry {
  readonly range: string
  readonly quality: number
}

/** How many entries of a header are read. Choosing among the thousands for which a header has room takes 8 ms. */
const maxEntries = 100

/**
 * Chooses the option that a header such as `accept` or `accept-encoding` prefers: by its quality values, then by how
 * exactly it names the option, and then by the order in the header.
 *
 * @returns undefined if the header accepts none of them
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-12.5
 */
export function choosePreferred<Option extends string>(header: string, options: readonly Option[]): Option | undefined {
  const entries = header.split(',', maxEntries).map(readEntry)
  const [best] = options
    .map((option) => ({ option, ...match(entries, option) }))
    .filter(({ quality }) => quality > 0)
    .toSorted((one, other) => other.quality - one.quality || other.exactness - one.exactness || one.order - other.order)
  return best?.option
}

function readEntry(text: string): Entry {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, '')
  return { range, quality: quality === undefined ? 1 : Number.parseFloat(quality) || 0 }
}

/**
 * Finds the entry that names an option most exactly. It applies even if it refuses an option that a less exact entry
 * accepts.
 */
function match(entries: readonly Entry[], option: string) {
  let best = { quality: 0, exactness: -1, order: 0 }
  for (const [order, { range, quality }] of entries.entries()) {
    const exactness = exactnessOf(range, option)
    if (exactness > best.exactness) best = { quality, exactness, order }
  }
  return best
}

function exactnessOf(range: string, option: string): number {
  if (range === option) return 2
  if (range === '*' || range === '*/*') return 0
  return range.endsWith('/*') && option.startsWith(range.slice(0, -1)) ? 1 : -1
}
