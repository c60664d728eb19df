import path from 'node:path'
import { Marked } from 'marked'
import { anchorOf, readText, resolveLink, urlOf } from './files.ts'

/** Renders a page. Links to other guides lead to their pages; links to files that are not served become text. */
export function renderPage(file: string, files: ReadonlyMap<string, string>): string {
  const marked = new Marked({
    renderer: {
      heading({ depth, tokens, text: title }) {
        return `<h${depth} id="${anchorOf(title)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens)
        const url = resolveLink(file, href, files)
        return url === undefined ? content : `<a href="${url}">${content}</a>`
      },
      image({ href, text: description }) {
        const url = resolveLink(file, href, files)
        // A container has no images.
        return url === undefined ? description : `<img src="${url}" alt="${description}">`
      },
    },
  })
  const html = marked.parse(readText(file), { async: false })
  // What is wider than the screen scrolls by itself, also by the keyboard.
  return html
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
}

/** Returns a page as Markdown, whose links lead to the Markdown of other guides. */
export function writeMarkdown(file: string, files: ReadonlyMap<string, string>): string {
  const here = path.posix.dirname(urlOf(file))
  const relink = (part: string) =>
    part.replaceAll(/(!?)\[([^\]\n]*)\]\(([^)\s]+)\)/g, (link, image, text, href) => {
      const url = resolveLink(file, href, files)
      if (url === undefined) return text
      if (/^(?:https?:|#)/.test(url)) return link
      const [page = '', anchor] = url.split('#')
      const target = files.get(page)?.endsWith('.md') ? `${page}.md` : page
      return `${image}[${text}](${path.posix.relative(here, target)}${anchor === undefined ? '' : `#${anchor}`})`
    })
  // Code stays as it is.
  return readText(file)
    .split(/^(```.*?^```$)/ms)
    .map((part, index) => (index % 2 === 1 ? part : relink(part)))
    .join('')
}
