import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openDemo } from '../../src/domain/seed/seed.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { barriers, hasDashboardPackages } from '../support/axe.ts'
import { findChromium, launchChromium, openPage, otherHostName } from '../support/chromium.ts'
import { addressOf } from '../support/events.ts'

const executablePath = findChromium('The pages in a browser')
const canUseAxe = hasDashboardPackages('The barriers of the pages')

describe.skipIf(executablePath === undefined)('in a browser', () => {
  let app: TestApp
  let appWithDemo: TestApp
  let browser: Browser
  let demoKey: string | undefined
  /** The addresses of a gateway with a demo tenant, and of one without GraphiQL. */
  let demo: string
  let plain: string

  beforeAll(async () => {
    app = await startTestApp({ graphiql: false })
    demoKey = await openDemo(app.database, 'memory')
    appWithDemo = await app.startAnother({ demoKey })
    demo = await addressOf(appWithDemo)
    plain = await addressOf(app)
    browser = await launchChromium(executablePath ?? '')
  })
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close()
  })
  afterAll(async () => {
    await browser.close()
    await appWithDemo.close()
    await app.close()
  })

  describe.each(['light', 'dark'] as const)('in %s colours', (scheme) => {
    it('the start page loads entirely from the gateway and can be read', async () => {
      const { page, foreignRequests, errors } = await openPage(browser, demo, scheme)
      await page.goto(demo)
      expect(await page.title()).toBe('Fusion Gateway')
      const links = page.getByRole('link')
      expect(await links.locator('strong').allTextContents()).toEqual([
        'GraphiQL',
        'Console',
        'REST reference',
        'Guides',
        'OpenAPI',
        'Health',
        'Readiness',
      ])
      await page.keyboard.press('Tab')
      expect(await links.first().evaluate((link) => link === link.ownerDocument.activeElement)).toBe(true)
      expect(
        await lowestContrast(
          page,
          'h1, .version, .lead, .links strong, .links code, .links span, pre, button, .steps a',
        ),
      ).toBeGreaterThan(4.5)
      await links.locator('strong').getByText('REST reference').click()
      await page.waitForURL(`${demo}/docs`)
      expect([foreignRequests, errors]).toEqual([[], []])
    })

    it('the page of a gateway without GraphiQL says how to turn it on', async () => {
      const { page, foreignRequests, errors } = await openPage(browser, plain, scheme)
      await page.goto(`${plain}/graphql`)
      await page.getByRole('heading', { name: 'GraphiQL is off' }).waitFor()
      await page.getByText('GRAPHIQL=on').waitFor()
      expect(await lowestContrast(page, 'h1, h2, p, pre, a')).toBeGreaterThan(4.5)
      expect(foreignRequests).toEqual([])
      // Chromium reports the status of the page itself.
      expect(errors).toEqual([expect.stringContaining('401')])
    })

    it('the guides load entirely from the gateway, and lead to each other on a narrow screen', async () => {
      const { page, foreignRequests, errors } = await openPage(browser, demo, scheme)
      await page.setViewportSize({ width: 390, height: 844 })
      const menu = page.getByRole('navigation', { name: 'Guides' })
      await page.goto(`${demo}/guides`)
      const everyLink = menu.getByRole('link', { includeHidden: true })
      for (const guide of await everyLink.allTextContents()) {
        const link = menu.getByRole('link', { name: guide, exact: true, includeHidden: true })
        const inside = page.getByRole('link', { name: guide, exact: true, includeHidden: true })
        const closed = menu.locator('details:not([open])').filter({ has: inside })
        if ((await closed.count()) > 0) await closed.locator('summary').click()
        await link.click()
        await page.locator('[aria-current=page]', { hasText: guide }).waitFor()
        expect(await page.evaluate(() => document.documentElement.scrollWidth), guide).toBe(390)
        expect(await lowestContrast(page, 'article :is(h1, h2, p, a, th, td, pre, code)'), guide).toBeGreaterThan(4.5)
        if (canUseAxe) expect((await barriers(page)).filter((found) => !/^empty-table-header/.test(found))).toEqual([])
      }
      await page.getByRole('searchbox', { name: 'Search the guides' }).fill('retry after')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Search', exact: true }).waitFor()
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
      expect(await lowestContrast(page, 'article :is(h1, p, a, mark)')).toBeGreaterThan(4.5)
      if (canUseAxe) expect(await barriers(page)).toEqual([])
      await page.locator('.results a').first().click()
      await page.locator('[aria-current=page]').waitFor({ state: 'attached' })
      expect([foreignRequests, errors]).toEqual([[], []])
    })

    it.skipIf(!canUseAxe)('the REST reference has no barriers of its own', async () => {
      const { page } = await openPage(browser, demo, scheme)
      await page.goto(`${demo}/docs`)
      await routeOf(page, 'GET', '/fusion/profiles').waitFor()
      const found = await barriers(page)
      // These are in the markup of Swagger UI.
      expect(found.map((barrier) => barrier.split(':')[0])).toEqual(['heading-order', 'nested-interactive', 'region'])
    })

    it('the REST reference loads entirely from the gateway and can be read', async () => {
      const { page, foreignRequests, errors } = await openPage(browser, demo, scheme)
      await page.goto(`${demo}/docs`)
      await routeOf(page, 'GET', '/fusion/profiles').waitFor()
      expect(await page.title()).toBe('REST reference · Fusion Gateway')
      const small = '.opblock-summary-method, .opblock-summary-description, .info a, .version, .btn.authorize span'
      expect(await lowestContrast(page, small)).toBeGreaterThan(4.5)
      expect([foreignRequests, errors]).toEqual([[], []])
    })
  })

  it.skipIf(!canUseAxe).each(['light', 'dark'] as const)(
    'everyone can use the text pages in %s colours',
    async (scheme) => {
      for (const address of [demo, plain, `${plain}/graphql`]) {
        const { page } = await openPage(browser, new URL(address).origin, scheme)
        await page.goto(address)
        await page.getByRole('button', { name: 'Copy' }).first().waitFor()
        expect(await barriers(page)).toEqual([])
        await page.setViewportSize({ width: 320, height: 640 })
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
      }
    },
  )

  it('the start page copies requests that work, by the keyboard too', async () => {
    const { page, errors } = await openPage(browser, demo)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(demo)
    const copied = async (name: string) => {
      await page.getByRole('button', { name: `Copy: ${name}` }).press('Enter')
      await page.getByRole('status').getByText(`${name}: copied`).waitFor()
      return page.evaluate(() => navigator.clipboard.readText())
    }
    expect(await copied('API key')).toBe(demoKey)
    const run = async (command: string) => {
      const { stdout } = await promisify(execFile)('sh', ['-c', command])
      return JSON.parse(stdout)
    }
    expect(await run(await copied('REST'))).toMatchObject({ users: [{ id: 'usr_demo_1' }, {}] })
    expect(await run(await copied('GraphQL'))).toMatchObject({
      data: { users: { nodes: [{ name: expect.any(String) }, {}] } },
    })
    expect(errors).toEqual([])
  })

  it('selects a sample that the browser may not copy', async () => {
    const { page } = await openPage(browser, demo)
    await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
    await page.goto(demo)
    await page.getByRole('button', { name: 'Copy: API key' }).click()
    await page.getByRole('button', { name: 'Copy: API key' }).getByText('Press Ctrl-C').waitFor()
    expect(await page.evaluate(() => String(getSelection()).trim())).toBe(demoKey)
  })

  it('the REST reference sends requests with the demo key', async () => {
    const { page, foreignRequests, errors } = await openPage(browser, demo)
    await page.goto(`${demo}/docs`)
    const user = routeOf(page, 'GET', '/users/{id}')
    await user.locator('.opblock-summary-control').click()
    await user.getByPlaceholder('id').fill('usr_demo_1')
    expect(await execute(page, user)).toMatchObject({ id: 'usr_demo_1', accounts: expect.any(Array) })
    await user.locator('.opblock-summary-control').click()

    const profiles = routeOf(page, 'GET', '/fusion/profiles')
    await profiles.locator('.opblock-summary-control').click()
    // The examples of the document are filled in.
    expect(await execute(page, profiles)).toMatchObject({ profiles: [{ id: 'prf_demo_1_1' }, { id: 'prf_demo_2_1' }] })
    await profiles.locator('.opblock-summary-control').click()

    const created = routeOf(page, 'POST', '/users')
    await created.locator('.opblock-summary-control').click()
    expect(await created.getByPlaceholder('idempotency-key').inputValue()).toBe('')
    const body = { name: 'Grace Hopper', email: 'grace@example.com', phone: '+1 555 0100' }
    expect(await execute(page, created)).toMatchObject(body)
    await created.locator('.opblock-summary-control').click()

    // Nothing that depends on earlier requests is filled in.
    const list = routeOf(page, 'GET', '/users')
    await list.locator('.opblock-summary-control').click()
    for (const name of ['cursor', 'if-none-match']) expect(await list.getByPlaceholder(name).inputValue()).toBe('')
    expect([foreignRequests, errors]).toEqual([[], []])
  })

  it('the REST reference has no key for a page that was opened under another host name', async () => {
    const address = demo.replace('127.0.0.1', otherHostName)
    const { page } = await openPage(browser, address)
    await page.goto(`${address}/docs`)
    await routeOf(page, 'GET', '/users').waitFor()
    expect(await page.content()).not.toContain('fus_')
    expect(demoKey).toMatch(/^fus_/)
  })
})

function routeOf(page: Page, method: string, path: string) {
  return page
    .locator('.opblock', {
      has: page.locator(`.opblock-summary-method:text-is("${method}")`).and(page.locator('.opblock-summary-method')),
    })
    .filter({ has: page.locator(`.opblock-summary-path[data-path="${path}"]`) })
}

/** Presses Execute. Returns the response of the gateway. */
async function execute(page: Page, route: ReturnType<typeof routeOf>): Promise<unknown> {
  const [reply] = await Promise.all([
    page.waitForResponse((response) => /^\/(users|fusion)\b/.test(new URL(response.url()).pathname)),
    route.getByRole('button', { name: 'Execute' }).click(),
  ])
  expect(reply.ok(), `${reply.url()} ${reply.status()}`).toBe(true)
  await route.locator('.live-responses-table .response-col_status').getByText(String(reply.status())).waitFor()
  return reply.json()
}

/**
 * The lowest contrast of the text of elements with their background. WCAG wants at least 4.5.
 *
 * @see https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
 */
async function lowestContrast(page: Page, selector: string): Promise<number> {
  await page.locator(selector).first().waitFor()
  return page.locator(selector).evaluateAll((elements) => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })
    if (!canvas) throw new Error('No canvas')
    /** The colours of an element and those behind it, the page first. */
    const paint = (colours: string[]) => {
      for (const colour of colours) {
        canvas.fillStyle = colour
        canvas.fillRect(0, 0, 1, 1)
      }
      const [red = 0, green = 0, blue = 0] = [...canvas.getImageData(0, 0, 1, 1).data].map((value) => {
        const part = value / 255
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
      })
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
    const contrasts = elements.map((element) => {
      const behind: string[] = []
      for (let at: Element | null = element; at; at = at.parentElement)
        behind.unshift(getComputedStyle(at).backgroundColor)
      const back = paint(['white', ...behind])
      const front = paint(['white', ...behind, getComputedStyle(element).color])
      return (Math.max(back, front) + 0.05) / (Math.min(back, front) + 0.05)
    })
    return Math.min(...contrasts)
  })
}
