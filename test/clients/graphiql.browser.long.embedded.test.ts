import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openDemo } from '../../src/domain/seed/seed.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { barriers, hasDashboardPackages } from '../support/axe.ts'
import {
  findChromium,
  launchChromium,
  otherHostName,
  responseTo,
  type Visit,
  visitGraphiql,
} from '../support/chromium.ts'
import { addressOf } from '../support/events.ts'

const executablePath = findChromium('GraphiQL in a browser')
const canUseAxe = hasDashboardPackages('The barriers of GraphiQL')

describe.skipIf(executablePath === undefined)('GraphiQL in a browser', () => {
  let app: TestApp
  let appWithDemo: TestApp
  let demoKey: string | undefined
  let browser: Browser
  /** The addresses of the gateways with and without a demo tenant. */
  let demo: string
  let plain: string

  beforeAll(async () => {
    app = await startTestApp()
    demoKey = await openDemo(app.database, 'memory')
    appWithDemo = await app.startAnother({ demoKey })
    demo = await addressOf(appWithDemo)
    plain = await addressOf(app)
    browser = await launchChromium(executablePath ?? '')
  })
  afterAll(async () => {
    await browser.close()
    await appWithDemo.close()
    await app.close()
  })

  describe('on one page', () => {
    let visit: Visit
    let page: Page

    beforeAll(async () => {
      visit = await visitGraphiql(browser, demo)
      page = visit.page
    })
    afterAll(() => page.context().close())

    it("opens with the header editor and the demo tenant's key", async () => {
      expect(demoKey).toMatch(/^fus_/)
      expect(await readHeaders(page)).toEqual({ 'x-api-key': demoKey })
    })

    it('opens with a tab for each example operation', async () => {
      const tabs = await page.getByRole('tab').allTextContents()
      expect(tabs).toEqual([
        'Users',
        'User',
        'Profiles',
        'Job',
        'StartJob',
        'Live',
        'AddUser',
        'ChangeUser',
        'Search',
        'CreateToken',
        'Viewer',
        'Events',
        'Growth',
      ])
      // None is outside of a window of usual width.
      const { width = 0 } = page.viewportSize() ?? {}
      const last = await page.getByRole('tab').last().boundingBox()
      expect((last?.x ?? width) + (last?.width ?? 0)).toBeLessThan(width)
    })

    it('shows what a response has cost', async () => {
      expect(await page.getByRole('status').filter({ hasText: 'Status' }).count()).toBe(0)
      await pressRun(page)
      const cost = page.getByRole('status').filter({ hasText: 'Status' })
      await cost.waitFor()
      // The key, the time of its last use, and one statement for the users and all below them.
      expect(await cost.textContent()).toMatch(/^Status 200 · \d+ ms · 115 points · SQL: \d statements?$/)
    })

    it('returns users with their accounts from the operation of the first tab', async () => {
      const profile = { username: expect.any(String), emails: [{ isPrimary: true }, { isPrimary: false }] }
      const accounts = Array.from({ length: 3 }, () => ({ displayName: expect.any(String), profile }))
      const nodes = Array.from({ length: 5 }, () => ({ name: expect.any(String), accounts }))
      expect(await pressRun(page)).toMatchObject({ data: { users: { nodes, pageInfo: { hasNextPage: true } } } })
      await page.locator('.result-window').getByText('"usr_demo_1"').waitFor()
    })

    it('shows the fields of Query in the documentation explorer', async () => {
      const docs = await openDocs(page)
      await docs.getByRole('link', { name: 'Query', exact: true }).click()
      await docs.getByRole('link', { name: 'users', exact: true }).waitFor()
      expect(await docs.locator('.graphiql-doc-explorer-title').textContent()).toBe('Query')
      const fields = await docs.locator('.graphiql-doc-explorer-field-name').allTextContents()
      expect(fields).toEqual(expect.arrayContaining(['job', 'node', 'profiles', 'user', 'users']))
    })

    it('has loaded entirely from the gateway, and has logged no error to the console', async () => {
      expect(visit.foreignRequests).toEqual([])
      expect(visit.errors).toEqual([])
      expect(await page.title()).toBe('Fusion Gateway')
    })
  })

  describe('on a page of its own', () => {
    afterEach(async () => {
      for (const context of browser.contexts()) await context.close()
    })

    it('opens a tab on the first click and runs its operation with its variables', async () => {
      const { page } = await visitGraphiql(browser, demo)
      for (const [tab, data] of [
        ['User', { user: { id: 'usr_demo_1' } }],
        ['Profiles', { profiles: [{ platform: expect.any(String) }, { platform: expect.any(String) }] }],
        ['Job', { job: { id: 'job_demo_1' } }],
        ['Search', { searchProfiles: { nodes: expect.arrayContaining([expect.anything()]) } }],
        ['CreateToken', { createAccessToken: { accessToken: expect.stringMatching(/^ey/), userErrors: [] } }],
        ['Viewer', { viewer: { tenantApp: { name: expect.any(String) }, user: null } }],
      ] as const) {
        await page.getByRole('tab', { name: tab, exact: true }).click()
        await page.getByRole('tab', { selected: true, name: tab, exact: true }).waitFor()
        const operation = new RegExp(`^(query|mutation) ${tab}\\b`, 'm')
        await page.waitForURL(({ searchParams }) => operation.test(searchParams.get('query') ?? ''))
        expect(await pressRun(page)).toMatchObject({ data })
      }
    })

    it('keeps its tabs after a reload and stores no key in the browser', async () => {
      const { page } = await visitGraphiql(browser, demo)
      await pressRun(page)
      await page.waitForFunction(() => localStorage.getItem('graphiql:tabState')?.includes('Users'))
      expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(demoKey)
      await Promise.all([responseTo('schema', page), page.reload()])
      expect(await page.getByRole('tab').count()).toBe(13)
      expect(await page.getByRole('tab', { selected: true }).textContent()).toContain('Users')
      expect(await readHeaders(page)).toEqual({ 'x-api-key': demoKey })
    })

    it('shows the results of a live query as they come, marks what has changed, and ends it', async () => {
      const { page, errors } = await visitGraphiql(browser, demo)
      const run = async <Data>(query: string) => {
        const response = await fetch(`${demo}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-api-key': demoKey ?? '' },
          body: JSON.stringify({ query }),
        })
        return ((await response.json()) as { data: Data }).data
      }
      const result = page.locator('.result-window')
      const revision = page.getByRole('status').filter({ hasText: 'Revision' })
      await page.getByRole('tab', { name: 'Live', exact: true }).click()
      await page.getByRole('tab', { selected: true, name: 'Live', exact: true }).waitFor()
      await page.waitForURL(({ searchParams }) => searchParams.get('query')?.includes('query Live') === true)
      const request = page.waitForRequest((candidate) => candidate.url().includes('%40live'))
      await page.getByRole('button', { name: /^Execute query/ }).click()
      await revision.filter({ hasText: /^Revision 1$/ }).waitFor()
      expect(await result.locator('.change, .change-label').count()).toBe(0)

      const created = await run<{ createJob: { job: { id: string } } }>(
        'mutation { createJob(input: { jobType: "x" }) { job { id } } }',
      )
      const { id } = created.createJob.job
      await result.getByText(id).waitFor()
      await revision.filter({ hasText: /^Revision 2 · \d+ lines marked$/ }).waitFor()
      const marked = async () => {
        const texts = await result.locator('.view-line', { has: page.locator('.change-label') }).allTextContents()
        return texts.map((text) => text.replaceAll(/\s+/g, ' ').trim())
      }
      const expected = ['"nodes": [ ← something removed', '"status": "PENDING", ← new', '"totalCount": 4 ← changed']
      expect(await marked()).toEqual(expect.arrayContaining(expected))
      await run(`mutation { cancelJob(input: { id: "${id}" }) { job { id } } }`)
      await revision.filter({ hasText: /^Revision 3 · 1 line marked$/ }).waitFor()
      expect(await marked()).toEqual(['"status": "CANCELLED", ← changed'])
      expect(await result.locator('.change').count()).toBe(1)
      if (canUseAxe) expect(await barriers(page)).toEqual([])

      const ended = page.waitForEvent('requestfailed', { predicate: (one) => one === sent })
      const sent = await request
      await page.getByRole('button', { name: /^Stop query/ }).click()
      await ended
      await page.getByRole('button', { name: /^Execute query/ }).waitFor()
      expect(errors).toEqual([])
    })

    it.skipIf(!canUseAxe).each(['light', 'dark'] as const)('can be used by everyone in %s colours', async (scheme) => {
      const { page } = await visitGraphiql(browser, demo, scheme)
      await pressRun(page)
      await page.locator('.result-window').getByText('"usr_demo_1"').waitFor()
      expect(await barriers(page)).toEqual([])
    })

    it('leads the keyboard to the editor, and has one stop for its tabs', async () => {
      const { page } = await visitGraphiql(browser, demo)
      const focused = () => page.evaluate(() => document.activeElement?.closest('[aria-label], .skip')?.className)
      await page.keyboard.press('Tab')
      expect(await focused()).toBe('skip')
      await page.keyboard.press('Enter')
      expect(await page.locator('.graphiql-query-editor :focus').count()).toBe(1)
      const selected = page.getByRole('tab', { selected: true })
      await selected.focus()
      for (const [key, tab] of [
        ['ArrowRight', 'User'],
        ['ArrowLeft', 'Users'],
        ['ArrowLeft', 'Growth'],
        ['Home', 'Users'],
        ['End', 'Growth'],
        ['Delete', 'Events'],
      ] as const) {
        await page.keyboard.press(key)
        await page.locator(`[role=tab]:focus[aria-selected=true]:text-is("${tab}")`).waitFor()
      }
      expect(await page.getByRole('tab').count()).toBe(12)
      expect(await page.locator('[role=tab][tabindex="0"]').count()).toBe(1)
    })

    it('has room for the response on a narrow screen, and for its title on a wide one', async () => {
      const { page } = await visitGraphiql(browser, demo)
      const boxOf = async (selector: string) => (await page.locator(selector).boundingBox()) ?? { width: 0, height: 0 }
      expect((await boxOf('.graphiql-logo')).height).toBeLessThanOrEqual(40)
      await page.setViewportSize({ width: 390, height: 844 })
      await pressRun(page)
      for (const pane of ['.graphiql-editors', '.result-window']) {
        const { width, height } = await boxOf(pane)
        expect(width, pane).toBeGreaterThan(340)
        expect(height, pane).toBeGreaterThan(300)
      }
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
      expect(await page.locator('meta[name=viewport]').count()).toBe(1)
      await openDocs(page)
      expect((await boxOf('.graphiql-plugin')).width).toBeGreaterThan(340)
    })

    it('answers a nested query typed into a new tab', async () => {
      const { page } = await visitGraphiql(browser, demo)
      await page.getByRole('button', { name: 'New tab' }).click()
      await page.getByRole('tab', { selected: true, name: '<untitled>', exact: true }).waitFor()
      await page.getByRole('region', { name: 'Operation Editor' }).locator('.monaco-editor').click()
      await page.keyboard.type('query Typed { user(id: "usr_demo_2") { accounts { user { id } } } }')
      // GraphiQL parses the text with a delay, and then names the tab.
      await page.getByRole('tab', { selected: true, name: 'Typed', exact: true }).waitFor()
      const user = { id: 'usr_demo_2' }
      expect(await pressRun(page)).toMatchObject({ data: { user: { accounts: [{ user }, { user }, { user }] } } })
      await page.locator('.result-window').getByText('"usr_demo_2"').first().waitFor()
    })

    it('shows a placeholder for the key if there is no demo tenant', async () => {
      const { page } = await visitGraphiql(browser, plain)
      expect(await readHeaders(page)).toEqual({ 'x-api-key': '<API_KEY>' })
      expect(await page.content()).not.toContain('fus_')
      expect(await pressRun(page)).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    })

    it('hides the key from a page that was opened under another host name', async () => {
      const { page } = await visitGraphiql(browser, demo.replace('127.0.0.1', otherHostName))
      expect(await readHeaders(page)).toEqual({ 'x-api-key': '<API_KEY>' })
      expect(await page.content()).not.toContain('fus_')
    })
  })
})

async function pressRun(page: Page): Promise<unknown> {
  const [response] = await Promise.all([
    responseTo('run', page),
    page.getByRole('button', { name: /^Execute query/ }).click(),
  ])
  return response
}

async function openDocs(page: Page) {
  await page.getByRole('button', { name: 'Show Documentation Explorer' }).click()
  const docs = page.getByRole('region', { name: 'Documentation Explorer' })
  await docs.getByRole('link', { name: 'Query', exact: true }).waitFor()
  return docs
}

/** Parses the text of the header editor, which draws spaces as U+00A0. */
async function readHeaders(page: Page): Promise<unknown> {
  const editor = page.getByRole('region', { name: 'Headers' }).locator('.graphiql-editor:not(.hidden) .view-lines')
  await editor.getByText('x-api-key').waitFor()
  return JSON.parse((await editor.allTextContents()).join('').replaceAll('\u00A0', ' '))
}
