import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createClient } from 'graphql-ws'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import {
  caddyCommands,
  canRun,
  haproxyCommands,
  nginxCommands,
  type ProxyCommands,
  startProxy,
} from '../docs/web-proxies.ts'
import { findChromium, launchChromium, openPage } from '../support/chromium.ts'
import { type RunningGateway, startGateway } from '../support/cli.ts'
import { freePort } from '../support/cluster.ts'
import { createDataDir } from '../support/data-dir.ts'
import { readPage } from '../support/docs.ts'

/** A proxy with the configuration that docs/recipes/proxies.md shows, without TLS. */
interface Proxy {
  readonly version: readonly [string, string]
  prepare(folder: string, gateway: string, proxy: string): ProxyCommands
}

const proxies: Record<string, Proxy> = {
  nginx: {
    version: ['nginx', '-v'],
    prepare(folder, gateway, proxy) {
      // The parts of the file that the locations refer to.
      const [head = ''] = readPage('examples/frontends/nginx.conf').split('server {\n  #')
      return nginxCommands(
        folder,
        `${head.replace('127.0.0.1:4000', gateway)}
        server { listen ${proxy}; ${readPage('examples/frontends/prefix/nginx.conf')} }`,
      )
    },
  },
  Caddy: {
    version: ['caddy', 'version'],
    prepare: (folder, gateway, proxy) =>
      caddyCommands(
        folder,
        readPage('examples/frontends/prefix/Caddyfile')
          .replace('127.0.0.1:4000', gateway)
          .replace('gateway.example.com', `http://${proxy}`),
      ),
  },
  HAProxy: {
    version: ['haproxy', '-v'],
    prepare: (folder, gateway, proxy) =>
      haproxyCommands(
        folder,
        readPage('examples/frontends/prefix/haproxy.cfg')
          .replace('127.0.0.1:4000', gateway)
          .replace(/bind .*/, `bind ${proxy}`),
      ),
  },
}

const chromium = findChromium('The gateway below a path')
const pages = ['', 'docs', 'graphql', 'guides', 'guides/rest', 'guides/recipes/relay', 'guides/console']
const consolePages = ['console', 'console/', 'console/users', 'console/users/usr_demo_1', 'console/jobs/job_demo_1']

let folder: string
let DATA_DIR: string
let gateway: RunningGateway
let key: string
let browser: Browser

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-prefix-'))
  DATA_DIR = createDataDir()
  gateway = await startGateway({ DATA_DIR })
  key = readFileSync(path.join(DATA_DIR, 'demo-key'), 'utf8').trim()
  browser = await launchChromium(chromium ?? '')
})
afterEach(async () => {
  for (const context of browser.contexts()) await context.close()
})
afterAll(async () => {
  await browser?.close()
  await gateway?.stop()
  for (const used of [folder, DATA_DIR]) rmSync(used, { recursive: true })
})

for (const [name, { version, prepare }] of Object.entries(proxies)) {
  const isSkipped = !canRun(`The gateway below a path of ${name}`, [version]) || chromium === undefined
  describe.skipIf(isSkipped)(`the gateway below a path of ${name}`, () => {
    let stop: () => Promise<void>
    /** The addresses of the proxy, and of the gateway: `http://127.0.0.1:1234/api/`. */
    let origin: string
    let root: string

    beforeAll(async () => {
      const port = await freePort()
      const address = `127.0.0.1:${port}`
      origin = `http://${address}`
      root = `${origin}/api/`
      stop = await startProxy(folder, prepare(folder, gateway.address.replace('http://', ''), address), port)
    })
    afterAll(() => stop?.())

    /** Opens a page. Collects the addresses outside the gateway that it requests or links to. */
    async function open(url: string) {
      const { page, errors, foreignRequests } = await openPage(browser, origin)
      const outside = new Set<string>()
      page.on('request', (request) => {
        const address = request.url()
        if (!address.startsWith(root) && !/^(?:blob|data):/.test(address)) outside.add(address)
      })
      await page.goto(url)
      return { page, errors, foreignRequests, outside }
    }

    /** The addresses of the gateway's host that a page links to, without their fragments. */
    async function linksOf(page: Page): Promise<string[]> {
      const links = await page
        .locator('a[href]')
        .evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href))
      return [...new Set(links.map((link) => link.replace(/#.*/, '')))].filter((link) => link.startsWith(origin))
    }

    const html = { accept: 'text/html' }
    const json = { accept: 'application/json', 'content-type': 'application/json' }

    it('has pages that load from the path, and whose links work', async () => {
      const seen = new Set<string>()
      for (const path of pages) {
        const { page, errors, foreignRequests, outside } = await open(root + path)
        if (path === 'docs') await page.locator('.opblock').first().waitFor()
        if (path === 'graphql') await page.getByRole('tab').first().waitFor()
        for (const link of await linksOf(page)) seen.add(link)
        const images = page.locator('img')
        expect(await images.evaluateAll((all) => all.every((img) => (img as HTMLImageElement).naturalWidth > 0))).toBe(
          true,
        )
        // GraphiQL asks for the schema with a placeholder instead of a key.
        const unexpected = errors.filter((error) => !(path === 'graphql' && error.includes('401')))
        expect([unexpected, foreignRequests, [...outside]], path).toEqual([[], [], []])
        await page.context().close()
      }
      expect(seen.size).toBeGreaterThan(25)
      for (const link of seen) {
        expect(link).toMatch(new RegExp(`^${root}`))
        expect((await fetch(link, { headers: html })).status, link).toBe(200)
      }
    })

    it('has a console whose pages, links and operations work', async () => {
      for (const path of consolePages) {
        const { page, errors, foreignRequests, outside } = await open(root + path)
        await page.getByLabel('API key or access token').fill(key)
        expect((await linksOf(page)).toSorted()).toEqual([root, `${root}docs`, `${root}guides`])
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Webhooks' }).click()
        await page.waitForURL(`${root}console/webhooks`)
        await page.goBack()
        const panel =
          path.includes('_demo_') &&
          page.getByRole('region', { name: path.includes('user') ? 'User' : 'Job', exact: true })
        await (panel || page.getByRole('row', { name: /@|demo/ }).first()).waitFor()
        for (const link of await linksOf(page)) expect(link).toMatch(new RegExp(`^${root}`))
        expect([errors, foreignRequests, [...outside]], path).toEqual([[], [], []])
        await page.context().close()
      }
    })

    it('runs operations of the console in GraphiQL, and with curl', async () => {
      const { page } = await open(`${root}console/users`)
      await page.getByLabel('API key or access token').fill(key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      const bar = page.getByRole('region', { name: 'GraphQL' })
      await bar.getByText('revision 1', { exact: true }).waitFor()
      const [graphiql] = await Promise.all([page.waitForEvent('popup'), bar.getByRole('link').click()])
      expect(graphiql.url()).toMatch(`${root}graphql`)
      // A live query, over a WebSocket.
      await graphiql.getByRole('button', { name: /^Execute query/ }).click()
      await graphiql.locator('.result-window').getByText('usr_').first().waitFor()

      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await page.bringToFront()
      await bar.getByRole('button', { name: /^query/ }).click()
      await bar.getByRole('button', { name: 'Copy as curl' }).click()
      await bar.getByRole('button', { name: 'Copied' }).waitFor()
      const command = await page.evaluate(() => navigator.clipboard.readText())
      const curl = spawn('sh', ['-c', `exec ${command}`], { env: { ...process.env, KEY: key } })
      let received = ''
      for await (const text of curl.stdout.setEncoding('utf8')) {
        received += text
        if (/^data: .*\n\n/m.test(received)) break
      }
      curl.kill()
      const [, first = ''] = /^data: (.*)$/m.exec(received) ?? []
      expect(JSON.parse(first)).toMatchObject({ data: { users: { totalCount: expect.any(Number) } } })
    })

    it('has a REST reference that sends requests to the path', async () => {
      const { page } = await open(`${root}docs`)
      const health = page.locator('.opblock', { has: page.locator('[data-path="/health"]') })
      await health.locator('.opblock-summary-control').click()
      const [reply] = await Promise.all([
        page.waitForResponse((response) => response.url().endsWith('/health')),
        health.getByRole('button', { name: 'Execute' }).click(),
      ])
      expect([reply.url(), reply.status()]).toEqual([`${root}health`, 200])
    })

    it('names the addresses of users, pages, routes and servers', async () => {
      const headers = { ...json, 'x-api-key': key }
      const at = (link: string | null | undefined, response: Response) => {
        const { href } = new URL(link ?? '', response.url)
        expect(href).toMatch(new RegExp(`^${root}`))
        return fetch(href, { headers })
      }
      const user = { name: 'Ada', email: 'ada@example.com', phone: '1' }
      const created = await fetch(`${root}users`, { method: 'POST', headers, body: JSON.stringify(user) })
      expect(await (await at(created.headers.get('location'), created)).json()).toMatchObject(user)
      const page = await fetch(`${root}users?limit=2`, { headers })
      const [, next] = /^<(.*)>; rel="next"$/.exec(page.headers.get('link') ?? '') ?? []
      const nextPage = (await (await at(next, page)).json()) as { users: unknown[] }
      expect(nextPage.users).toHaveLength(2)
      const start = await fetch(root, { headers: json })
      const { links } = (await start.json()) as { links: Record<string, string> }
      for (const [to, link] of Object.entries(links)) {
        // GraphQL needs an operation.
        if (!link.endsWith('/graphql')) expect((await at(link, start)).status, to).toBe(200)
        else expect(new URL(link, start.url).href).toBe(`${root}graphql`)
      }
      const document = await fetch(`${root}openapi.json`)
      const { servers } = (await document.json()) as { servers: { url: string }[] }
      expect(servers.map(({ url }) => url)).toEqual([`${origin}/api`])
    })

    it('redirects the path without a slash, and hides the metrics', async () => {
      const redirected = await fetch(`${origin}/api`, { headers: html })
      expect([redirected.status, redirected.url]).toEqual([200, root])
      expect((await fetch(`${root}metrics`)).status).toBe(404)
    })

    it('has subscriptions over WebSockets', async () => {
      const url = `${root.replace('http', 'ws')}graphql`
      const connectionParams = { 'x-api-key': key }
      const client = createClient({ url, webSocketImpl: WebSocket, connectionParams, retryAttempts: 0 })
      const results = client.iterate({ query: 'subscription { job(id: "job_demo_1") { id } }' })
      expect((await results.next()).value?.data).toEqual({ job: { id: 'job_demo_1' } })
      await client.dispose()
    })
  })
}
