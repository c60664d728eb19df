import pg from 'pg'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openDemo } from '../../src/domain/seed/seed.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { barriers, hasDashboardPackages } from '../support/axe.ts'
import { findChromium, launchChromium, openPage } from '../support/chromium.ts'
import { addressOf, settleEvents } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { startDeliveriesOf, startReceiver } from '../support/webhooks.ts'
import { panelOf, rowOf, visitConsole } from './console.ts'

const executablePath = findChromium('The console')
const canUseAxe = hasDashboardPackages('The barriers of the console')

describe.skipIf(executablePath === undefined)('the console', () => {
  let app: TestApp
  let withDemo: TestApp
  let browser: Browser
  let gateway: string
  let demoKey: string
  let tenant: TestTenant
  let create: ReturnType<typeof factoriesFor>

  beforeAll(async () => {
    app = await startTestApp()
    demoKey = (await openDemo(app.database, 'memory')) ?? ''
    withDemo = await app.startAnother({ demoKey })
    gateway = await addressOf(withDemo)
    browser = await launchChromium(executablePath ?? '')
  })
  beforeEach(async () => {
    tenant = await app.createTenant()
    create = factoriesFor(withDemo, tenant)
  })
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close()
  })
  afterAll(async () => {
    await browser.close()
    await withDemo.close()
    await app.close()
  })

  const open = (path: string, key = tenant.key) => visitConsole(browser, gateway, path, key)
  const createJob = async (jobType: string) => {
    const mutation = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
    const { data } = await withDemo.graphql<{ createJob: { job: { id: string } } }>(tenant, mutation, {
      input: { jobType, payload: { url: 'https://example.com/' } },
    })
    return data.createJob.job.id
  }
  /** Creates a key with some scopes. */
  const keyWith = async (...scopes: string[]) => {
    const mutation = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key } }'
    const { data } = await withDemo.graphql<{ createApiKey: { key: string } }>(tenant, mutation, {
      input: { name: 'narrow', scopes },
    })
    return data.createApiKey.key
  }

  it('signs in with the demo key, at the address that was opened, and loads nothing from other hosts', async () => {
    const { page, foreignRequests, errors } = await openPage(browser, gateway)
    await page.goto(`${gateway}/console/jobs?status=FAILED`)
    const field = page.getByLabel('API key or access token')
    expect(await field.inputValue()).toBe(demoKey)
    await field.fill('fus_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    await field.fill(demoKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor()
    await page.getByRole('row').getByText('Failed').waitFor()
    expect(page.url()).toBe(`${gateway}/console/jobs?status=FAILED`)
    await page.reload()
    await page.getByRole('row').getByText('Failed').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await page.evaluate(() => [...Object.values(sessionStorage), ...Object.values(localStorage)])).toEqual([])
    // Chromium reports the status of the wrong key itself.
    expect([foreignRequests, errors]).toEqual([[], [expect.stringContaining('401')]])
  })

  it.skipIf(!canUseAxe).each(['light', 'dark'] as const)('everyone can use its pages in %s colours', async (scheme) => {
    const { page } = await visitConsole(browser, gateway, '/console', demoKey, scheme)
    for (const width of [1_440, 390]) {
      await page.setViewportSize({ width, height: 844 })
      const pages = [
        'users',
        'users/usr_demo_1',
        'users/none',
        'jobs',
        'jobs/job_demo_1',
        'webhooks',
        'keys',
        'nothing',
      ]
      for (const path of pages) {
        await page.goto(`${gateway}/console/${path}`)
        await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' })
        await page.locator('[aria-busy=true], .pulse').first().waitFor({ state: 'detached' })
        expect(await barriers(page), `${path} ${width}`).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBe(width)
      }
      for (const [path, name] of [
        ['jobs', 'Cancel jobs…'],
        ['webhooks', 'New webhook'],
        ['keys', 'New key'],
        ['keys', 'New access token'],
      ] as const) {
        await page.goto(`${gateway}/console/${path}`)
        await page.getByRole('button', { name }).click()
        await page.getByRole('dialog').waitFor()
        expect(await barriers(page), `${name} ${width}`).toEqual([])
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
      }
    }
  })

  it('finds, orders and opens users, with an address for each', async () => {
    const { page, errors } = await open('/console', demoKey)
    await page.waitForURL('**/console/users')
    await page.getByText('25 users').waitFor()
    await page.getByRole('searchbox').fill('olga moreau')
    await page.waitForURL('**/users?search=olga+moreau')
    await page.getByRole('button', { name: 'Name' }).click()
    await page.waitForURL('**/users?search=olga+moreau&order=NAME&direction=ASC')
    await rowOf(page, 'Olga Moreau').getByRole('link').click()
    const panel = panelOf(page, 'User')
    await panel.getByText('olga.moreau.1@example.com').waitFor()
    await panel.getByText('acc_demo_1_1', { exact: true }).waitFor()
    await panel.getByText('followers').first().waitFor()
    await panel.getByText('Account linked').first().waitFor()
    expect(page.url()).toContain('/console/users/usr_demo_1?search=olga+moreau')
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    await page.goBack()
    await panel.waitFor()
    await page.goBack()
    await panel.waitFor({ state: 'detached' })
    await page.goBack()
    await page.waitForURL('**/users?search=olga+moreau')
    expect(errors).toEqual([])
  })

  it('shows changes of users as they happen, also those made while the connection was broken', async () => {
    const { page } = await open('/console/users')
    await page.getByText('Live', { exact: true }).waitFor()
    const { id } = await create.user({ name: 'Grace Hopper' })
    await rowOf(page, 'Grace Hopper').waitFor()
    await page.getByText('1 user', { exact: true }).waitFor()
    withDemo.app.server.closeAllConnections()
    await create.user({ name: 'Alan Turing' })
    await withDemo.graphql(tenant, 'mutation ($id: ID!) { deleteUser(input: { id: $id }) { deletedUserId } }', { id })
    await rowOf(page, 'Alan Turing').waitFor()
    await rowOf(page, 'Grace Hopper').waitFor({ state: 'detached' })
    expect(await page.getByRole('row').count()).toBe(2)
  })

  it('follows what another program writes: rows change, leave the list, and leave the panel', async () => {
    const { tenantAppId } = tenant
    const write = (sql: string, ...values: string[]) =>
      app.database.prisma.$executeRawUnsafe(`${sql} AND tenant_app_id = '${tenantAppId}'`, ...values)
    const user = await create.user({ name: 'Grace Hopper' })
    await create.user({ name: 'Grace Kelly' })
    const account = await create.account(user.id, { displayName: 'Before' })
    const { page, errors } = await open(`/console/users/${user.id}?search=Grace&order=NAME&direction=ASC`)
    const panel = panelOf(page, 'User')
    await panel.getByText('Before').waitFor()
    expect(await page.getByRole('row').getByRole('link').allInnerTexts()).toEqual(['Grace Hopper', 'Grace Kelly'])
    await write('UPDATE account SET display_name = $2 WHERE id = $1', account.id, 'After')
    await panel.getByText('After').waitFor()
    await write('UPDATE "user" SET name = $2 WHERE id = $1', user.id, 'Grace Murray Hopper')
    await panel.getByRole('heading', { name: 'Grace Murray Hopper' }).waitFor()
    await rowOf(page, 'Grace Murray Hopper').waitFor()
    expect(await page.getByRole('row').getByRole('link').allInnerTexts()).toEqual([
      'Grace Kelly',
      'Grace Murray Hopper',
    ])
    await write('UPDATE "user" SET name = $2, email = $2 WHERE id = $1', user.id, 'Ada Lovelace')
    await panel.getByRole('heading', { name: 'Ada Lovelace' }).waitFor()
    await page.getByText('1 user', { exact: true }).waitFor()
    expect(await page.getByRole('row').getByRole('link').allInnerTexts()).toEqual(['Grace Kelly'])
    await write('DELETE FROM "user" WHERE id = $1', user.id)
    await panel.getByText('No user has this id').waitFor()

    const job = await create.job({ status: 'RUNNING', jobType: 'report' })
    await page.goto(`${gateway}/console/jobs/${job.id}?status=RUNNING`)
    await rowOf(page, 'report').waitFor()
    await write('UPDATE job SET progress = 0.5, progress_message = $2 WHERE id = $1', job.id, 'Halfway')
    await panelOf(page, 'Job').getByText('Halfway').waitFor()
    await write("UPDATE job SET status = 'FAILED' WHERE id = $1", job.id)
    await page.getByText('Nothing matches').waitFor()
    await page.getByRole('button', { name: /^Failed 1$/ }).waitFor()
    await panelOf(page, 'Job').locator('.badge', { hasText: 'Failed' }).waitFor()
    expect(errors).toEqual([])
  })

  it('follows, cancels and retries jobs, one or all that match', async () => {
    const { page, errors } = await open('/console/jobs')
    await page.getByText('Nothing here yet').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    const id = await createJob('report')
    await rowOf(page, 'report').getByRole('link').click()
    const panel = panelOf(page, 'Job')
    await panel.getByText('"url": "https://example.com/"').waitFor()
    await panel.getByRole('button', { name: 'Cancel' }).click()
    await panel.locator('.badge', { hasText: 'Cancelled' }).waitFor()
    await rowOf(page, 'report').getByText('Cancelled').waitFor()
    // The log shows no event before the transactions that began before it have ended.
    const older = new pg.Client({ connectionString: app.database.url })
    await older.connect()
    await older.query('BEGIN; SELECT pg_current_xact_id()')
    await panel.getByRole('button', { name: 'Retry' }).click()
    await panel.locator('.badge', { hasText: 'Pending' }).waitFor()
    await older.end()
    await panel.getByText('Retried').waitFor()
    expect(page.url()).toBe(`${gateway}/console/jobs/${id}`)

    await createJob('report')
    await createJob('other')
    await page.goto(`${gateway}/console/jobs?type=report`)
    await page.getByText('2 jobs').waitFor()
    await page.getByRole('button', { name: 'Cancel jobs…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('2 jobs will be changed.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel jobs' }).click()
    await dialog.getByText('2 jobs changed. 0 jobs left.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    const { data } = await withDemo.graphql(tenant, '{ tenantStats { jobsByStatus { status count } } }')
    expect(data).toEqual({
      tenantStats: {
        jobsByStatus: expect.arrayContaining([
          { status: 'CANCELLED', count: 2 },
          { status: 'PENDING', count: 1 },
        ]),
      },
    })
    expect(errors).toEqual([])
  })

  it('shows the history of a user or a job, and not that of another object with its id', async () => {
    const user = await create.user({ id: '77' })
    await create.account(user.id, { id: '77' })
    const other = await create.user()
    await create.account(other.id, { id: 'of another user' })
    await create.job({ id: '77', jobType: 'report' })
    await settleEvents(app)
    const { page, errors } = await open('/console/users/77')
    const titles = async (kind: string) => {
      await panelOf(page, kind).locator('.timeline li').first().waitFor()
      return panelOf(page, kind).locator('.timeline li > span:first-child').allInnerTexts()
    }
    expect((await titles('User')).toSorted()).toEqual(['Account linked', 'User created'])
    await page.goto(`${gateway}/console/jobs/77`)
    expect(await titles('Job')).toEqual(['Created'])
    expect(errors).toEqual([])
  })

  it('creates a webhook, shows its secret once, and sends events again', async () => {
    const receiver = await startReceiver()
    const stop = startDeliveriesOf(app)
    const { page, errors } = await open('/console/webhooks')
    await page.getByRole('button', { name: 'New webhook' }).click()
    await page.getByLabel('URL').fill(receiver.url)
    await page.getByLabel('USER_CREATED').check()
    await page.getByRole('button', { name: 'Create webhook' }).click()
    const secret = page.getByRole('dialog').locator('pre')
    expect(await secret.textContent()).toMatch(/^whsec_/)
    await page.getByRole('button', { name: 'Done' }).click()
    await create.user({ name: 'Grace Hopper' })
    await receiver.received(1)
    await page.reload()
    const panel = panelOf(page, 'Webhook')
    await panel.getByText('Succeeded').waitFor()
    await panel.getByRole('button', { name: /^Redeliver evt_/ }).click()
    await receiver.received(2)
    await panel.getByRole('button', { name: 'Rotate secret…' }).click()
    await page.getByRole('button', { name: 'Rotate the secret' }).click()
    expect(await secret.textContent()).toMatch(/^whsec_/)
    await page.getByRole('button', { name: 'Done' }).click()
    await panel.getByRole('button', { name: 'Disable' }).click()
    await panel.getByRole('button', { name: 'Enable' }).waitFor()
    await panel.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('button', { name: 'Delete the webhook' }).click()
    await page.getByText('Nothing here yet').waitFor()
    expect(errors).toEqual([])
    await stop()
    await receiver.close()
  })

  it('creates keys and tokens that work, shows them once, and revokes keys', async () => {
    const { page, errors } = await open('/console/keys')
    const { id: userId } = await create.user({ name: 'Grace Hopper' })
    const created = async (button: string, fill: (page: Page) => Promise<void>) => {
      await page.getByRole('button', { name: button }).first().click()
      await fill(page)
      await page.getByRole('dialog').locator('button.primary').click()
      const dialog = page.getByRole('dialog', { name: button })
      const text = (await dialog.locator('pre').textContent()) ?? ''
      await dialog.getByRole('button', { name: 'Done' }).click()
      return text
    }
    const key = await created('New key', (form) => form.getByLabel('Name').fill('import'))
    expect(key).toMatch(/^fus_/)
    const token = await created('New access token', (form) => form.getByLabel('Id of the user').fill(userId))
    const { data } = await withDemo.graphql({ ...tenant, token }, '{ viewer { keyName user { name } } }')
    expect(data).toEqual({ viewer: { keyName: expect.any(String), user: { name: 'Grace Hopper' } } })
    await page.getByRole('button', { name: 'Revoke…' }).click()
    await page.getByRole('button', { name: 'Revoke the key' }).click()
    await rowOf(page, 'import').getByText('Revoked').waitFor()
    expect((await withDemo.rest({ ...tenant, key }, 'GET', '/users')).statusCode).toBe(401)
    expect(errors).toEqual([])
  })

  it('shows what the scopes of the key allow', async () => {
    await create.user({ name: 'Grace Hopper', email: 'grace@example.com' })
    const { page, errors } = await open('/console', await keyWith('users:read'))
    await rowOf(page, 'Grace Hopper').waitFor()
    const menu = page.getByRole('navigation', { name: 'Console' })
    expect((await menu.getByRole('link').allTextContents()).map((text) => text.trim())).toEqual(['Users'])
    expect(await page.content()).not.toContain('grace@example.com')
    await page.goto(`${gateway}/console/jobs`)
    await page.getByText('It needs the scope jobs:read').waitFor()
    expect(errors).toEqual([])
  })

  it('shows the operation behind a page, and opens it in GraphiQL with the key', async () => {
    await create.user({ name: 'Grace Hopper' })
    const { page } = await open('/console/users?search=Grace')
    await rowOf(page, 'Grace Hopper').waitFor()
    const bar = page.getByRole('region', { name: 'GraphQL' })
    await bar.getByText('revision 1', { exact: true }).waitFor()
    const [graphiql] = await Promise.all([page.waitForEvent('popup'), bar.getByRole('link').click()])
    await graphiql.getByRole('button', { name: /^Execute query/ }).click()
    await graphiql.locator('.result-window').getByText('"Grace Hopper"').waitFor()
    await page.bringToFront()
    await bar.getByRole('button').click()
    await bar
      .getByRole('button', { name: /Platforms/ })
      .getByText(/\d+ points · \d+ ms · SQL: \d+ statements/)
      .waitFor()
  })
})
