import { brotliDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'

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

describe('/guides', () => {
  it('has the README, the pages of docs/ and the recipes', () => {
    expect([...pages.keys()]).toEqual(
      expect.arrayContaining(['/guides', '/guides/graphql', '/guides/frontends', '/guides/recipes/relay']),
    )
    expect(pages.size).toBe(33)
    for (const [url, body] of pages) expect(body.match(/aria-current="page"/g), url).toHaveLength(1)
    expect(pages.get('/guides/rest')).toContain('<title>REST · Fusion Gateway</title>')
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
