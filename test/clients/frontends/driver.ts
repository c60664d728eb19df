import { createTokenHandler } from '@fusion-gateway/client/server'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { createKey, revokeKey } from '../../../src/domain/credential/key.service.ts'
import { startTestApp, type TestApp, type TestTenant } from '../../support/app.ts'
import { openPage } from '../../support/chromium.ts'
import { factoriesFor } from '../../support/factories.ts'
import { bundlePage } from './bundle.ts'
import type { DocumentName } from './documents.ts'
import type { Frontend, Shown } from './page.ts'
import { type Site, startSite } from './site.ts'

declare const frontend: Frontend

/** A tab of a browser with the page. Its methods are those of the page. */
export interface Tab {
  readonly page: Page
  show(view: string, document: DocumentName, variables?: object): Promise<void>
  change(view: string, variables: object): Promise<void>
  more(view: string): Promise<void>
  withheld(view: string, path: string): Promise<string | undefined>
  hide(view: string): Promise<void>
  follow(view: string, document: DocumentName, variables?: object): Promise<void>
  /** Clicks, and resolves with what the page shows then. */
  click(form: string, document: DocumentName, variables: object, expected?: object): Promise<Shown>
  /** Shows a form, with a button and an output, which is removed when it has saved. */
  openForm(form: string, document: DocumentName, variables: object): Promise<void>
  /** All that a view has shown. */
  shown(view: string): Promise<readonly Shown[]>
  /** Waits until a view shows data like this. */
  untilShown(view: string, data: unknown): Promise<void>
  /** Why requests have waited. */
  waits(): Promise<readonly string[]>
  isSignedOut(): Promise<boolean>
  /** Ends the waiting for the network, which makes tests shorter. */
  wake(): Promise<void>
  /** Hides the tab behind another, or shows it again. */
  setHidden(isHidden: boolean): Promise<void>
}

/** A person's session at the token backend. Its key can be replaced, which ends the tokens of the old one. */
export interface Session {
  readonly name: string
  replaceKey(): Promise<void>
  /** Revokes the key of the token backend, which notices nothing. */
  revokeKey(): Promise<void>
  /** Signs the person out, and ends the tokens. */
  end(): Promise<void>
}

/** A tenant of its own, with pages of its own. */
export interface Stage {
  readonly tenant: TestTenant
  readonly create: ReturnType<typeof factoriesFor>
  readonly session: Session
  /** The tabs of a stage are in one browser window, and share its connections. */
  readonly context: BrowserContext
  /** @param transport of its subscriptions */
  openTab(transport?: 'socket' | 'stream'): Promise<Tab>
  /** Requests to the token backend so far. */
  tokenRequests(): number
}

export interface Driver {
  readonly app: TestApp
  readonly site: Site
  /** @param scopes of the tokens */
  openStage(scopes?: readonly string[]): Promise<Stage>
  /** Stops the gateway: its connections end, and there are no new ones. */
  stopGateway(): Promise<void>
  startGateway(): Promise<void>
  /** Closes all tabs, and ends what a test has left broken. */
  reset(): Promise<void>
  close(): Promise<void>
}

const scopesOfStaff = ['users:read', 'users:write', 'profiles:read', 'contacts:read', 'jobs:read', 'events:read']

/** Starts a gateway, and in front of it a site with the page of a client. */
export async function startDriver(client: string, browser: Browser): Promise<Driver> {
  const app = await startTestApp()
  const handlers = new Map<string | null, (request: Request) => Promise<Response>>()
  const tokenRequests = new Map<string | null, number>()
  const sessionOf = (request: Request) => new URL(request.url).searchParams.get('session')
  const script = "import { connect, startPage } from '/page.js'; startPage(connect)"
  const html = `<!doctype html><title>${client}</title><script type="module">${script}</script>`
  const files = {
    '/': { type: 'text/html', body: html },
    '/page.js': { type: 'text/javascript', body: await bundlePage(client) },
  }
  const site = await startSite(files, async (request) => {
    const session = sessionOf(request)
    tokenRequests.set(session, (tokenRequests.get(session) ?? 0) + 1)
    return (await handlers.get(session)?.(request)) ?? new Response(null, { status: 401 })
  })
  // The backend reaches the gateway as the page does, so both miss it when it is down.
  const url = `${site.origin}/graphql`
  let gateway: TestApp | undefined

  async function startGateway(): Promise<void> {
    gateway = await app.startAnother({})
    site.connect(await gateway.app.listen({ host: '127.0.0.1', port: 0 }))
  }

  async function stopGateway(): Promise<void> {
    site.disconnect()
    await gateway?.close()
    gateway = undefined
  }

  async function signIn(tenant: TestTenant, scopes: readonly string[]): Promise<Session> {
    const { tenantAppId, name } = tenant
    const newKey = () => createKey(app.database, { tenantAppId, name: 'backend' })
    let apiKey = await newKey()
    handlers.set(name, (request) =>
      createTokenHandler({ url, apiKey: apiKey.key, inputFor: async () => ({ scopes }) })(request),
    )
    const revoke = ({ row }: typeof apiKey) => revokeKey(app.database, row.id)
    return {
      name,
      async replaceKey() {
        const old = apiKey
        apiKey = await newKey()
        await revoke(old)
      },
      revokeKey: async () => void (await revoke(apiKey)),
      async end() {
        handlers.delete(name)
        await revoke(apiKey)
      },
    }
  }

  await startGateway()
  return {
    app,
    site,
    startGateway,
    stopGateway,
    async openStage(scopes = scopesOfStaff) {
      const tenant = await app.createTenant()
      const session = await signIn(tenant, scopes)
      const { page: first } = await openPage(browser, site.origin)
      const context = first.context()
      let unused: Page | undefined = first
      return {
        tenant,
        create: factoriesFor(app, tenant),
        session,
        context,
        tokenRequests: () => tokenRequests.get(session.name) ?? 0,
        async openTab(transport = 'socket') {
          const page = unused ?? (await context.newPage())
          unused = undefined
          await page.goto(`${site.origin}/?${transport}&session=${encodeURIComponent(session.name)}`)
          // The page has loaded its script.
          await page.waitForFunction(() => 'frontend' in globalThis)
          return tabOf(page)
        },
      }
    },
    async reset() {
      for (const context of browser.contexts()) await context.close()
      site.endFaults()
      if (!gateway) await startGateway()
    },
    async close() {
      await stopGateway()
      await site.close()
      await app.close()
    },
  }
}

function tabOf(page: Page): Tab {
  const shown = (view: string) => page.evaluate((name) => frontend.shown[name] ?? [], view)
  return {
    page,
    shown,
    show: (...args) =>
      page.evaluate(([view, document, variables]) => frontend.show(view, document, variables ?? {}), args),
    change: (...args) => page.evaluate(([view, variables]) => frontend.change(view, variables), args),
    more: (view) => page.evaluate((name) => frontend.more(name), view),
    withheld: (...args) => page.evaluate(([view, path]) => frontend.withheld(view, path), args),
    hide: (view) => page.evaluate((name) => frontend.hide(name), view),
    follow: (...args) =>
      page.evaluate(([view, document, variables]) => frontend.follow(view, document, variables ?? {}), args),
    click: (...args) =>
      page.evaluate(
        ([form, document, variables, expected]) => frontend.click(form, document, variables, expected),
        args,
      ),
    openForm: (...args) =>
      page.evaluate(([form, document, variables]) => frontend.openForm(form, document, variables), args),
    async untilShown(view, data) {
      await expect.poll(async () => (await shown(view)).at(-1)?.data, { interval: 20 }).toMatchObject(data as object)
    },
    waits: () => page.evaluate(() => frontend.waits),
    isSignedOut: () => page.evaluate(() => frontend.isSignedOut),
    setHidden: (isHidden) =>
      page.evaluate((value) => {
        // Playwright shows all tabs.
        Object.defineProperty(document, 'hidden', { value, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, isHidden),
    wake: () => page.evaluate(() => void dispatchEvent(new Event('online'))),
  }
}
