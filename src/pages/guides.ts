import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Marked } from 'marked'
import { GatewayError } from '../engine/errors.ts'
import { createTextPages, faviconPath } from '../engine/http/pages/page.ts'
import { routePlugin } from '../engine/http/plugin.ts'
import { compressResponse, respondConditionally } from '../engine/http/response-body.ts'

const root = path.resolve(import.meta.dirname, '../..')

/** The URL of a file: `README.md` ⇒ `/guides`, `docs/recipes/relay.md` ⇒ `/guides/recipes/relay`. */
const urlOf = (file: string) => file.replace(/^README\.md$|^docs/, '/guides').replace(/\.md$/, '')

/** Serves `/guides`: the README and the pages of docs/, for browsers that cannot reach the repository. */
export const guides = routePlugin('guides', (app) => {
  const files = globSync(['README.md', 'docs/*.{md,svg}', 'docs/images/console-*.webp', 'docs/recipes/*.md'], {
    cwd: root,
  }).toSorted()
  const fileByUrl = new Map(files.map((file) => [urlOf(file), file]))
  const read = (file: string) => readFileSync(path.join(root, file), 'utf8')
  const titleOf = (file: string) => (file === 'README.md' ? 'Overview' : (/^# (.*)/.exec(read(file))?.[1] ?? file))
  const titles = new Map(
    files.filter((file) => file.endsWith('.md')).map((file) => [urlOf(file), titleOf(file)] as const),
  )
  const sendTextPage = createTextPages('guides.css')
  /** Rendered when the first browser asks for them. */
  const articles = new Map<string, string>()

  for (const url of ['/guides', '/guides/*']) {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      onSend: compressResponse,
      async handler(request, reply) {
        const [asked = ''] = request.url.split('?')
        const file = fileByUrl.get(asked)
        if (file === undefined) throw new GatewayError('NOT_FOUND', 'There is no such guide.')
        if (file.endsWith('.webp')) {
          const image = readFileSync(path.join(root, file))
          return reply.type('image/webp').header('cache-control', 'public, max-age=86400').send(image)
        }
        const title = titles.get(asked)
        if (title === undefined) {
          return respondConditionally(request, reply.type('image/svg+xml; charset=utf-8'), read(file), 'everyone')
        }
        const article = articles.get(file) ?? render(read(file), path.dirname(file), fileByUrl)
        articles.set(file, article)
        const body = `${menuOf(titles, asked)}\n<article>\n${article}</article>`
        const page = sendTextPage(reply, `${title} · Fusion Gateway`, body)
        return respondConditionally(request, reply, page, 'everyone')
      },
    })
  }
})

function menuOf(titles: ReadonlyMap<string, string>, current: string): string {
  const links = [...titles].map(
    ([url, title]) => `<a href="${url}"${url === current ? ' aria-current="page"' : ''}>${title}</a>`,
  )
  return `<header><a href="/"><img src="${faviconPath}" alt="">Fusion Gateway</a></header>
<nav aria-label="Guides">${links.join('\n')}</nav>`
}

/**
 * Renders Markdown. Links to other guides lead to their pages; links to files that are not served become text.
 *
 * @param folder the folder of the file
 */
function render(text: string, folder: string, fileByUrl: ReadonlyMap<string, string>): string {
  const resolve = (href: string): string | undefined => {
    if (/^(?:https?:|#)/.test(href)) return href
    const [file = '', anchor] = href.split('#')
    const url = urlOf(path.posix.join(folder, file))
    if (!fileByUrl.has(url)) return undefined
    return anchor === undefined ? url : `${url}#${anchor}`
  }
  const marked = new Marked({
    renderer: {
      heading({ depth, tokens, text: title }) {
        // The anchors of GitHub.
        const id = title
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
          .replaceAll(' ', '-')
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens)
        const url = resolve(href)
        return url === undefined ? content : `<a href="${url}">${content}</a>`
      },
      image({ href, text: description }) {
        const url = resolve(href)
        // A container has no images.
        return url === undefined ? description : `<img src="${url}" alt="${description}">`
      },
    },
  })
  const html = marked.parse(text, { async: false })
  // What is wider than the screen scrolls by itself, also by the keyboard.
  return html
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
}
