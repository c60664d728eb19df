import { GatewayError } from '@fusion-gateway/base'
import { compressResponse, respondConditionally } from '@fusion-gateway/gateway-kit'
import { baseUrlOf, createTextPages, routePlugin } from '@fusion-gateway/http'
import { escapeHtml, listFiles, readFile, readText, titleOf, urlOf } from './files.ts'
import { readGroups, writeLlmsText, writeMenu } from './menu.ts'
import { renderPage, writeMarkdown } from './render.ts'
import { readSections, searchGuides } from './search.ts'

/** Longer texts are cut off. */
const maxSearchLength = 100

/**
 * Serves `/guides`: the README and the pages of docs/, for browsers that cannot reach the repository. Each is also
 * served as Markdown, `/guides/rest.md`, and `/llms.txt` lists them.
 */
export const guides = routePlugin('guides', (app) => {
  const files = new Map(listFiles().map((file) => [urlOf(file), file]))
  const pages = [...files.values()].filter((file) => file.endsWith('.md'))
  const sendTextPage = createTextPages({ sheets: ['guides.css'], hasForm: true })
  let groups: ReturnType<typeof readGroups> | undefined
  /** They have the titles of all pages, so they are read for the first browser. */
  const findGroups = () => (groups ??= readGroups(files))
  /** Rendered when the first browser asks for them. */
  const articles = new Map<string, { readonly title: string; readonly article: string }>()
  /** Read for the first search. */
  let sections: ReturnType<typeof readSections> | undefined

  for (const url of ['/guides', '/guides.md', '/guides/*']) {
    app.route<{ Querystring: { q?: string | string[] } }>({
      method: ['GET', 'HEAD'],
      url,
      onSend: compressResponse,
      async handler(request, reply) {
        const asked = request.url.replace(/\?.*/s, '').replace(/\/$/, '')
        const file = files.get(asked.replace(/\.md$/, ''))
        if (file === undefined || (asked.endsWith('.md') && !file.endsWith('.md')))
          throw new GatewayError('NOT_FOUND', 'There is no such guide.')
        if (file.endsWith('.webp')) {
          return reply.type('image/webp').header('cache-control', 'public, max-age=86400').send(readFile(file))
        }
        if (file.endsWith('.svg')) {
          return respondConditionally(request, reply.type('image/svg+xml; charset=utf-8'), readText(file), 'everyone')
        }
        if (asked.endsWith('.md')) {
          const text = writeMarkdown(file, files)
          return respondConditionally(request, reply.type('text/markdown; charset=utf-8'), text, 'everyone')
        }
        const text = [asked === '/guides' ? (request.query.q ?? '') : '']
          .flat()
          .join(' ')
          .slice(0, maxSearchLength)
          .trim()
        if (text !== '') {
          sections ??= readSections(pages)
          const body = `${writeMenu(findGroups(), '', escapeHtml(text))}\n<article>\n${searchGuides(sections, text)}</article>`
          return respondConditionally(request, reply, sendTextPage(reply, 'Search · Fusion Gateway', body), 'everyone')
        }
        const { title, article } = articles.get(file) ?? { title: titleOf(file), article: renderPage(file, files) }
        articles.set(file, { title, article })
        const source = `<p class="source"><a href="${asked}.md">This page as Markdown</a></p>`
        const body = `${writeMenu(findGroups(), asked)}\n<article>\n${article}${source}</article>`
        const page = sendTextPage(reply, `${title} · Fusion Gateway`, body)
        return respondConditionally(request, reply, page, 'everyone')
      },
    })
  }

  app.route({
    method: ['GET', 'HEAD'],
    url: '/llms.txt',
    onSend: compressResponse,
    handler(request, reply) {
      const text = writeLlmsText(findGroups(), baseUrlOf(request))
      return respondConditionally(request, reply.type('text/plain; charset=utf-8'), text, 'everyone')
    },
  })
})
