import { anchorOf, escapeHtml, readText, titleOf, urlOf } from './files.ts'

/** The part of a page below a heading. */
interface Section {
  readonly url: string
  readonly page: string
  readonly heading: string
  readonly text: string
  /** In lower case. */
  readonly names: string
  readonly words: string
}

const maxResults = 20
const maxTerms = 8

/** Divides the pages into sections. */
export function readSections(files: readonly string[]): readonly Section[] {
  return files.flatMap((file) => {
    const page = titleOf(file)
    return splitAtHeadings(readText(file)).map(([heading = '', ...lines], index): Section => {
      const text = plainText(lines.join('\n'))
      // Signs are not part of an anchor.
      const url = index === 0 ? urlOf(file) : `${urlOf(file)}#${anchorOf(heading)}`
      return { url, page, heading, text, names: `${page} ${heading}`.toLowerCase(), words: text.toLowerCase() }
    })
  })
}

/** Returns the lines of each section, the first of which is its heading. */
function splitAtHeadings(markdown: string): string[][] {
  const sections: string[][] = []
  let isCode = false
  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode
    const heading = isCode ? undefined : /^#+ (.*)/.exec(line)?.[1]
    if (heading !== undefined) sections.push([plainText(heading)])
    else sections.at(-1)?.push(line)
  }
  return sections
}

/** The words of Markdown, without its signs. */
function plainText(markdown: string): string {
  return markdown
    .replaceAll(/!?\[([^\]\n]*)\]\([^)\s]*\)/g, '$1')
    .replaceAll(/^```.*$|^\|[-|: ]+\|$|^<!--.*-->$/gm, ' ')
    .replaceAll(/[`*]/g, '')
    .replaceAll('|', ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/**
 * Finds the sections that have all words of a text, the best first: words in a heading count most, then the whole text.
 *
 * @returns HTML, with the words marked
 */
export function searchGuides(sections: readonly Section[], text: string): string {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean).slice(0, maxTerms)
  const found = sections
    .filter(({ names, words }) => terms.every((term) => names.includes(term) || words.includes(term)))
    .map((section) => ({
      section,
      score: scoreOf(section, terms) + (section.words.includes(terms.join(' ')) ? 10 : 0),
    }))
    .sort((one, other) => other.score - one.score)
    .slice(0, maxResults)
  const heading = `<h1>Search</h1>\n<p>${sentenceOf(found.length, escapeHtml(text))}</p>`
  const results = found.map(
    ({ section: { url, page, heading: name, text: all } }) =>
      `<li><a href="${url}">${escapeHtml(name === page ? page : `${page}: ${name}`)}</a><p>${excerptOf(all, terms)}</p></li>`,
  )
  return `${heading}\n<ol class="results">${results.join('\n')}</ol>`
}

function sentenceOf(count: number, text: string): string {
  if (count === 0) return `No guide has all of these words: ${text}`
  return `${count === maxResults ? `The best ${count}` : count} ${count === 1 ? 'section' : 'sections'} for: ${text}`
}

function scoreOf({ names, words }: Section, terms: readonly string[]): number {
  const scores = terms.map(
    (term) =>
      (names.includes(term) ? 20 : 0) + Math.min(words.split(term, 6).length - 1, 5) + 100 / (words.length + 100),
  )
  return scores.reduce((sum, score) => sum + score, 0)
}

/** The words around the first term that occurs. */
function excerptOf(text: string, terms: readonly string[]): string {
  const anyTerm = terms.map((term) => term.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')
  const at = text.search(new RegExp(anyTerm, 'i'))
  const from = at < 60 ? 0 : text.indexOf(' ', at - 60) + 1
  const words = text.slice(from, from + 200).replace(/ \S*$/, '')
  const parts = words.split(new RegExp(`(${anyTerm})`, 'i'))
  const marked = parts.map((part, index) => (index % 2 === 1 ? `<mark>${escapeHtml(part)}</mark>` : escapeHtml(part)))
  return `${from === 0 ? '' : '… '}${marked.join('')} …`
}
