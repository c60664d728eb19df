import { faviconPath } from '@fusion-gateway/http'
import { readText, resolveLink, titleOf } from './files.ts'

/** The pages for one kind of reader. The first one is where they start. */
interface Group {
  readonly reader: string
  readonly pages: readonly { readonly url: string; readonly title: string; readonly about: string }[]
}

/** Reads the groups from the tables of docs/README.md: their first column links to pages, the second is about them. */
export function readGroups(files: ReadonlyMap<string, string>): readonly Group[] {
  const index = 'docs/README.md'
  return readText(index)
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      reader: section.split('\n', 1).join(''),
      pages: [...section.matchAll(/^\| \[[^\]]*\]\(([^)]+)\) \| (.*) \|$/gm)].flatMap(([, href = '', about = '']) => {
        const url = resolveLink(index, href, files)
        const file = url === undefined ? undefined : files.get(url)
        return url === undefined || file === undefined ? [] : [{ url, title: titleOf(file), about }]
      }),
    }))
    .filter(({ pages }) => pages.length > 0)
}

/**
 * The head of a page, with the search, and the menu.
 *
 * @param current the URL of the page
 * @param searched what was searched for, as HTML
 */
export function writeMenu(groups: readonly Group[], current: string, searched = ''): string {
  const link = ({ url, title }: { readonly url: string; readonly title: string }) =>
    `<li><a href="${url}"${url === current ? ' aria-current="page"' : ''}>${title}</a></li>`
  const lists = groups.map(({ reader, pages }) => {
    const isOpen = pages.some(({ url }) => url === current)
    return `<details${isOpen ? ' open' : ''}><summary>${reader}</summary><ul>${pages.map(link).join('\n')}</ul></details>`
  })
  return `<header><a href="/"><img src="${faviconPath}" alt="">Fusion Gateway</a>
<form role="search" action="/guides"><input type="search" name="q" value="${searched}" aria-label="Search the guides" placeholder="Search the guides" maxlength="100" required><button>Search</button></form></header>
<nav aria-label="Guides"><ul>${link({ url: '/guides', title: 'Overview' })}
${link({ url: '/guides/README', title: 'All pages' })}</ul>
${lists.join('\n')}</nav>`
}

/**
 * The index for language models.
 *
 * @param base the URL of the gateway
 * @see https://llmstxt.org
 */
export function writeLlmsText(groups: readonly Group[], base: string): string {
  const root = base.replace(/\/$/, '')
  const lists = groups.map(({ reader, pages }) => {
    const links = pages.map(({ url, title, about }) => `- [${title}](${root}${url}.md): ${about}`)
    return `## ${reader}\n\n${links.join('\n')}\n`
  })
  return `# Fusion Gateway

> A GraphQL API, and a REST API, for the users of an app, their accounts on platforms, the profiles of those accounts, and background jobs.

- [Overview](${root}/guides.md): what the gateway is, how to start it, and a tour of five minutes
- [OpenAPI](${root}/openapi.json): the routes of REST
- [The schema](${root}/schema.graphql): GraphQL, for clients that may introspect it

${lists.join('\n')}`
}
