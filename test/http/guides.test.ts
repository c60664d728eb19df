import { brotliDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { readPage } from '../support/docs.ts'

let app: TestApp
/** The pages by their URLs: those of the menu. */
const pages = new Map<string, string>()

const get = (url: string, headers: Record<string, unknown> = {}) =>
  app.app.inject({ url, headers: headers as Record<string, string> })

/** Where a link of a page leads. */
const pathOf = (link: string, page: string) => new URL(link, `http://gateway.test${page}`).pathname

beforeAll(async () => {
  app = await startTestApp()
  const { body } = await get('/guides')
  const [menu = ''] = /<nav aria-label="Guides">.*?<\/nav>/s.exec(body) ?? []
  for (const [, link = ''] of menu.matchAll(/href="([^"]+)"/g)) {
    const url = pathOf(link, '/guides')
    pages.set(url, (await get(url)).body)
  }
})
afterAll(() => app.close())

/** The text of the links of a list of results. */
const resultsOf = (body: string) =>
  [...body.matchAll(/<li><a href="([^"]+)">([^<]+)<\/a><p>/g)].map(([, link = '', name = '']) => [link, name])

describe('the search of /guides', () => {
  const search = async (text: string) => (await get(`/guides?q=${encodeURIComponent(text)}`)).body

  it('finds the sections that have all words, those with the words in a heading first', async () => {
    const found = resultsOf(await search('idempotency rest'))
    expect(found[0]).toEqual(['./guides/rest#idempotency', 'REST: Idempotency'])
    expect(found.length).toBeGreaterThan(3)
    expect(await search('IF-MATCH')).toMatch(/<mark>If-Match<\/mark>/i)
    for (const [link = ''] of found) expect(pages.has(pathOf(link, '/guides')), link).toBe(true)
  })

  it('leads to headings that exist, and takes no comment of code for one', async () => {
    const anchors = new Map([...pages].map(([url, body]) => [url, body.match(/(?<= id=")[^"]+/g) ?? []]))
    for (const text of ['the', 'gateway', 'npm', 'export', 'token', 'caddy']) {
      for (const [link = ''] of resultsOf(await search(text))) {
        const { pathname, hash } = new URL(link, 'http://gateway.test/guides')
        if (hash !== '') expect(anchors.get(pathname), link).toContain(hash.slice(1))
      }
    }
  })

  it('shows what was typed as text, at most 100 characters of it, and says when nothing is found', async () => {
    const body = await search('<b>"nothing"</b>')
    expect(body).toContain('No guide has all of these words: &lt;b&gt;&quot;nothing&quot;&lt;/b&gt;')
    expect(body).toContain('value="&lt;b&gt;&quot;nothing&quot;&lt;/b&gt;"')
    expect(await search(`${'z'.repeat(100)}yz`)).not.toContain('zy')
    expect(await search('.*')).toContain('<h1>Search</h1>')
    for (const url of ['/guides?q=', '/guides?q=%20', '/guides?p=x'])
      expect((await get(url)).body).toBe(pages.get('/guides'))
    expect((await get('/guides?q=follow&q=events')).body).toContain('for: follow events')
  })

  it('may be sent to the gateway alone', async () => {
    const policy = String((await get('/guides')).headers['content-security-policy'])
    expect(policy).toMatch(/; form-action 'self'$/)
    expect(pages.get('/guides/recipes/relay')).toContain('<form role="search" action="../../guides">')
    expect(String((await get('/', { accept: 'text/html' })).headers['content-security-policy'])).toMatch(
      /form-action 'none'$/,
    )
  })
})

describe('guides as Markdown', () => {
  it('are at the URL of each page with .md, with links to each other', async () => {
    for (const url of pages.keys()) {
      const { statusCode, headers, body } = await get(`${url}.md`)
      expect([statusCode, headers['content-type']], url).toEqual([200, 'text/markdown; charset=utf-8'])
      expect(body, url).toMatch(/^# /)
      const text = body.replaceAll(/```.*?```/gs, '')
      // Nothing else is changed, code in particular.
      const plain = (markdown: string) => markdown.replaceAll(/!?\[([^\]\n]*)\]\([^)\s]+\)/g, '$1')
      const file = url === '/guides' ? 'README.md' : `${url.replace('/guides', 'docs')}.md`
      expect(plain(body), url).toBe(plain(readPage(file)))
      expect(body.match(/```.*?```/gs), url).toEqual(readPage(file).match(/```.*?```/gs))
      for (const [, link = ''] of text.matchAll(/\]\(([^)]+)\)/g)) {
        if (/^(https?:|#)/.test(link)) continue
        const target = pathOf(link, `${url}.md`)
        if (!pages.has(target.replace(/\.md$/, ''))) expect((await get(target)).statusCode, `${url}: ${link}`).toBe(200)
      }
    }
    expect((await get('/guides.md')).body).toContain('[REST](guides/rest.md)')
    expect((await get('/guides/recipes/relay.md')).body).toContain('](../graphql.md#')
    expect((await get('/guides/nothing.md')).statusCode).toBe(404)
    expect((await get('/guides/performance.svg.md')).statusCode).toBe(404)
  })

  it('are listed in /llms.txt by reader, below the address of the gateway', async () => {
    const headers = { host: 'gateway.test', 'x-forwarded-proto': 'https', 'x-forwarded-prefix': '/api' }
    const { body, headers: sent } = await get('/llms.txt', headers)
    expect(sent['content-type']).toBe('text/plain; charset=utf-8')
    expect(body).toMatch(/^# Fusion Gateway\n\n> .*\n/)
    expect(body).toContain(
      '\n## Frontends\n\n- [Start: a frontend](https://gateway.test/api/guides/start/frontend.md): Where',
    )
    const listed = [...body.matchAll(/\(https:\/\/gateway\.test\/api(\/guides[^)]*)\.md\)/g)].map(([, url = '']) => url)
    expect(listed.toSorted()).toEqual([...pages.keys()].filter((url) => url !== '/guides/README').toSorted())
  })
})

describe('/guides', () => {
  it('has the README, the pages of docs/ and the recipes', () => {
    expect([...pages.keys()]).toEqual(
      expect.arrayContaining(['/guides', '/guides/graphql', '/guides/frontends', '/guides/recipes/relay']),
    )
    expect(pages.size).toBe(41)
    for (const [url, body] of pages) expect(body.match(/aria-current="page"/g), url).toHaveLength(1)
    expect(pages.get('/guides/rest')).toContain('<title>REST · Fusion Gateway</title>')
  })

  it('groups the pages by reader, each group with a page to start with, and opens that of the page', () => {
    const menu = /<nav.*<\/nav>/s.exec(pages.get('/guides/rest') ?? '')?.[0] ?? ''
    const groups = [...menu.matchAll(/<details( open)?><summary>(.*?)<\/summary><ul><li><a href="([^"]+)"/g)]
    expect(
      groups.map(([, isOpen, reader = '', first = '']) => [reader, pathOf(first, '/guides/rest'), isOpen]),
    ).toEqual([
      ['Frontends', '/guides/start/frontend', undefined],
      ['Servers and REST', '/guides/start/rest', ' open'],
      ['Explorers', '/guides/start/explorer', undefined],
      ['Operators', '/guides/start/operator', undefined],
      ['Contributors', '/guides/architecture', undefined],
    ])
    for (const reader of ['frontend', 'rest', 'explorer', 'operator']) {
      expect(readPage(`docs/start/${reader}.md`).split(/\s+/).length, reader).toBeLessThanOrEqual(300)
    }
  })

  it('has only links that work', async () => {
    const anchors = new Map([...pages].map(([url, body]) => [url, body.match(/(?<= id=")[^"]+/g) ?? []]))
    let toOtherGuides = 0
    for (const [url, body] of pages) {
      for (const [, link = ''] of body.matchAll(/(?:href|src)="([^"]+)"/g)) {
        if (/^https?:/.test(link)) continue
        const [path = '', anchor] = link.split('#')
        // Behind a proxy that removes a prefix, a link from the root would leave the gateway.
        expect(path, url).not.toMatch(/^\//)
        const target = pathOf(path, url)
        if (!pages.has(target)) expect((await get(target)).statusCode, `${url}: ${link}`).toBe(200)
        if (anchor !== undefined) expect(anchors.get(target), `${url}: ${link}`).toContain(anchor)
        if (anchor !== undefined && path !== '') toOtherGuides += 1
      }
    }
    expect(toOtherGuides).toBeGreaterThan(20)
    // Files that are not served are named, without a link.
    expect(pages.get('/guides')).toMatch(/CONTRIBUTING\.md(?!<\/a>)/)
  })

  it('shows code as text', () => {
    expect(pages.get('/guides/recipes/fetch')).toContain('&lt;Data&gt;')
    expect(pages.get('/guides/recipes/fetch')).not.toContain('<Data>')
  })

  it('loads nothing from other hosts, and runs only the script that copies samples', async () => {
    for (const [url, body] of pages) expect(body, url).not.toMatch(/<script[^>]|<iframe|style="|src="https?:/)
    const policy = String((await get('/guides')).headers['content-security-policy'])
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; img-src 'self'; frame-ancestors 'none'/,
    )
  })

  it('is compressed, and sent again only if it has changed', async () => {
    const { headers, rawPayload } = await get('/guides/graphql', { 'accept-encoding': 'br' })
    expect(headers).toMatchObject({ 'content-encoding': 'br', 'cache-control': 'no-cache' })
    expect(brotliDecompressSync(rawPayload).toString()).toBe(pages.get('/guides/graphql'))
    const again = await get('/guides/graphql', { 'if-none-match': headers['etag'] })
    expect([again.statusCode, again.body]).toEqual([304, ''])
    expect((await get('/guides/rest', { 'if-none-match': headers['etag'] })).statusCode).toBe(200)
  })

  it.each([
    '/guides/nothing',
    '/guides/../package.json',
    '/guides/%2e%2e/package.json',
    '/guides/decisions/0001-bypass-prisma-client-for-reads',
  ])('has no other files: %s', async (url) => {
    expect((await get(url)).statusCode).toBe(404)
  })

  it('answers HEAD, and no other methods', async () => {
    expect((await app.app.inject({ method: 'HEAD', url: '/guides/rest' })).statusCode).toBe(200)
    const { statusCode, headers } = await app.app.inject({ method: 'POST', url: '/guides/rest' })
    expect([statusCode, headers['allow']]).toEqual([405, 'GET, HEAD'])
  })
})
