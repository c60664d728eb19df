import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { barriers, hasDashboardPackages } from '../support/axe.ts'
import { findChromium, launchChromium } from '../support/chromium.ts'
import { addressOf } from '../support/events.ts'
import { answerInstead, rowOf, visitConsole } from './console.ts'

const executablePath = findChromium('The states of the console')
const canUseAxe = hasDashboardPackages('The barriers of the states of the console')
const manyRows = 10_000

describe.skipIf(executablePath === undefined)('the console', () => {
  let app: TestApp
  let browser: Browser
  let gateway: string
  let tenant: TestTenant

  beforeAll(async () => {
    app = await startTestApp()
    gateway = await addressOf(app)
    browser = await launchChromium(executablePath ?? '')
    tenant = await app.createTenant()
    const { tenantAppId } = tenant
    await app.database.prisma.$executeRaw`
      INSERT INTO "user" (tenant_app_id, id, name, email, created_at, updated_at)
      SELECT ${tenantAppId}, 'usr_' || n, 'User ' || n, 'user' || n || '@example.com', now() + n * interval '1 second', now()
      FROM generate_series(1, ${manyRows}::int) n`
    await app.database.prisma.$executeRaw`
      INSERT INTO job (tenant_app_id, id, job_type, created_at, updated_at)
      SELECT ${tenantAppId}, 'job_' || n, 'job ' || n, now() - n * interval '1 second', now()
      FROM generate_series(1, ${manyRows}::int) n`
  })
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close()
  })
  afterAll(async () => {
    await browser.close()
    await app.close()
  })

  const open = (path: string) => visitConsole(browser, gateway, path, tenant.key)

  it('opens no stream again that was stopped while its tab was hidden', async () => {
    const { page } = await open('/console/jobs')
    const streams: string[] = []
    page.on('request', (request) => {
      if (request.headers()['accept'] === 'text/event-stream') streams.push(request.postData() ?? '')
    })
    const setHidden = (isHidden: boolean) =>
      page.evaluate((value) => {
        // Playwright shows all tabs.
        Object.defineProperty(document, 'hidden', { value, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, isHidden)
    await rowOf(page, 'job 1').waitFor()
    await setHidden(true)
    await setHidden(false)
    await expect.poll(() => streams.length).toBeGreaterThan(0)
    await setHidden(true)
    const opened = streams.length
    await page.locator('a[href$="/console/keys"]').first().click()
    await page.waitForURL('**/console/keys')
    await setHidden(false)
    await page.evaluate(() => fetch('/live'))
    expect(streams).toHaveLength(opened)
  })

  it.each([
    ['users', 'User 10000', 'User 1'],
    ['jobs', 'job 1', 'job 10000'],
  ])(
    'renders only the rows of a list of 10,000 %s that can be seen, and reaches the last one',
    async (path, first, last) => {
      const { page, errors } = await open(`/console/${path}`)
      await rowOf(page, first).waitFor()
      await page.getByText(`10,000 ${path}`).waitFor()
      const rows = page.locator('.rows .row')
      const scroller = page.locator('.scroller')
      const lastRow = rowOf(page, last)
      while (!(await lastRow.isVisible())) {
        await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight))
        expect(await rows.count()).toBeLessThan(80)
        await page.waitForTimeout(50)
      }
      expect(await scroller.evaluate((element) => element.scrollHeight)).toBe(44 * (manyRows + 1))
      expect(errors).toEqual([])
    },
  )

  it('follows changes far down in a list, without moving the rows that are read', async () => {
    const { tenantAppId } = tenant
    const { page, errors } = await open('/console/users')
    await rowOf(page, 'User 10000').waitFor()
    const scroller = page.locator('.scroller')
    const row = rowOf(page, 'User 9000')
    while (!(await row.isVisible())) {
      await scroller.evaluate((element) => element.scrollTo(0, 44 * 1_000))
      await page.waitForTimeout(50)
    }
    const topOf = async () => (await row.boundingBox())?.y
    const top = await topOf()
    await app.database.prisma.$executeRaw`
      UPDATE "user" SET email = 'changed@example.com' WHERE tenant_app_id = ${tenantAppId} AND id = 'usr_9000'`
    await row.getByText('changed@example.com').waitFor()
    await app.database.prisma.$executeRaw`
      DELETE FROM "user" WHERE tenant_app_id = ${tenantAppId} AND id IN ('usr_9040', 'usr_8999')`
    await rowOf(page, 'User 8999').waitFor({ state: 'detached' })
    await expect.poll(topOf).toBe(top)
    // The first rows are read again.
    await scroller.evaluate((element) => element.scrollTo(0, 0))
    await rowOf(page, 'User 10000').waitFor()
    expect(errors).toEqual([])
  })

  it('moves through a list by the keyboard, opens a row and comes back to it', async () => {
    const { page } = await open('/console/users?order=NAME&direction=ASC')
    await rowOf(page, 'User 1').getByRole('link').focus()
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    await page.keyboard.press('ArrowDown')
    await expect.poll(focused).toBe('User 10')
    await page.keyboard.press('End')
    await expect.poll(focused).toMatch(/^User (?!10$)\d+$/)
    await page.keyboard.press('Home')
    await expect.poll(focused).toBe('User 1')
    // Two keys in one frame: the first row with the focus is removed before the page has moved the focus to it.
    await page.evaluate(async () => {
      for (const key of ['ArrowDown', 'End']) {
        document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
        await new Promise((resolve) => setTimeout(resolve))
      }
    })
    await expect.poll(focused).toMatch(/^User (?!10$)\d+$/)
    await page.keyboard.press('Home')
    await expect.poll(focused).toBe('User 1')
    await page.keyboard.press('Enter')
    // The heading has the id until the user is read, and then the text of the link.
    const focusedTag = () => page.evaluate(() => document.activeElement?.tagName)
    await expect.poll(focusedTag).toBe('H2')
    await expect.poll(focused).toBe('User 1')
    expect(await focusedTag()).toBe('H2')
    await page.keyboard.press('Escape')
    await expect.poll(focusedTag).toBe('A')
  })

  const failed = (status: number, code: string, headers = {}) => ({
    status,
    headers,
    json: { errors: [{ message: 'No.', extensions: { code } }] },
  })
  it.each([
    ['has no points left', failed(429, 'RATE_LIMITED', { 'retry-after': '2' }), 'Too many requests'],
    ['may not read it', failed(403, 'FORBIDDEN'), 'Your key may not do this'],
    ['meets a busy gateway', failed(503, 'SERVICE_UNAVAILABLE'), 'The gateway is busy or restarting'],
    ['meets no gateway', undefined, 'The gateway does not respond'],
  ])('says what helps if the key %s, and tries again', async (_, response, title) => {
    const { page } = await open('/console/webhooks')
    let isBroken = true
    await answerInstead(page, /query Users/, (route) => {
      if (!isBroken) return route.fallback()
      return response === undefined ? route.abort() : route.fulfill(response)
    })
    await page.getByRole('link', { name: 'Users' }).click()
    await page.getByRole('alert').getByText(title).waitFor()
    if (canUseAxe) expect(await barriers(page)).toEqual([])
    isBroken = false
    // It waits as long as the gateway says.
    await page.getByRole('button', { name: 'Try again', exact: true }).click()
    await rowOf(page, 'User 10000').waitFor()
  })

  it('shows that a list is loading, and signs out when the key is no longer valid', async () => {
    const { page } = await open('/console/webhooks')
    await answerInstead(page, /query Users/, () => undefined)
    await page.getByRole('link', { name: 'Users' }).click()
    await page.locator('[role=table][aria-busy=true] .pulse').first().waitFor()
    await answerInstead(page, /query Jobs/, (route) => route.fulfill(failed(401, 'UNAUTHENTICATED')))
    await page.getByRole('link', { name: 'Jobs' }).click()
    await page.getByText('Your key is no longer valid.').waitFor()
    expect(page.url()).toBe(`${gateway}/console/jobs`)
  })

  describe('the page of usage', () => {
    const viewer = { keyName: 'key', scopes: ['usage:read'], tenantApp: { id: 'ten_1', name: 'Tenant' } }
    const openUsage = async (response: object) => {
      const { page } = await open('/console/nothing')
      await answerInstead(page, /query Viewer/, (route) => route.fulfill({ json: { data: { viewer } } }))
      await answerInstead(page, /query Usage/, (route) => route.fulfill({ json: response }))
      await page.goto(`${gateway}/console/usage`)
      return page
    }

    it('shows the operations of clients, and the fields that they select', async () => {
      const counts = { requests: 12_345, errors: 2, points: 99, p50: 3, p95: 20, lastUsedAt: '2026-01-01T00:00:00Z' }
      const operation = {
        keyName: 'backend',
        clientName: 'web',
        clientVersion: '2',
        operationName: 'Creators',
        ...counts,
      }
      const field = { field: 'User.email', requests: 7, lastUsedAt: null, deprecationReason: 'Use contact.' }
      const nodes = [{ day: new Date().toISOString().slice(0, 10), requests: 12_345, errors: 2 }]
      const usage = { nodes, pageInfo: { hasNextPage: false }, operations: [operation], fields: [field] }
      const page = await openUsage({ data: { usage } })
      await page.getByRole('row', { name: /Creators.*web 2.*backend.*12,345/ }).waitFor()
      await page.getByRole('img', { name: 'Requests per day' }).waitFor()
      if (canUseAxe) expect(await barriers(page)).toEqual([])
      await page.getByRole('button', { name: 'Deprecated fields' }).click()
      await page.getByRole('row', { name: /User\.email.*Use contact/ }).waitFor()
    })

    it('says so if the gateway does not count usage', async () => {
      const page = await openUsage({
        errors: [{ message: 'Cannot query field "usage" on type "Query".', extensions: {} }],
      })
      await page.getByText('This gateway does not count usage').waitFor()
    })
  })
})
