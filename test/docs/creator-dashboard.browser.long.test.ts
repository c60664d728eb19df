import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Browser, Locator, Page, Request } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { barriers, hasDashboardPackages } from '../support/axe.ts'
import { findChromium, launchChromium, openPage } from '../support/chromium.ts'
import { type RunningGateway, startGateway } from '../support/cli.ts'
import { freePort } from '../support/cluster.ts'
import { createDataDir } from '../support/data-dir.ts'
import { projectRoot, readBlocks, readPage } from '../support/docs.ts'

const example = 'examples/creator-dashboard'
const executablePath = hasDashboardPackages('The creator dashboard') ? findChromium('The creator dashboard') : undefined

/** What the gateway trusts besides the operations of the dashboard. */
const ownDocuments = {
  wait: `mutation Wait { createJob(input: { jobType: "wait" }) { job { id } } }`,
  unlink: 'mutation Unlink { unlinkAccount(input: { id: "acc_demo_25_1" }) { unlinkedAccountId } }',
  sync: `mutation Sync($input: SyncProfileInput!) { syncProfile(input: $input) { userErrors { message } } }`,
}

describe.skipIf(executablePath === undefined)('the creator dashboard', () => {
  let root: string
  let gatewayEnv: Record<string, string>
  let gateway: RunningGateway
  let dashboard: { readonly address: string; stop(): Promise<unknown> }
  let browser: Browser
  let key: string
  /** Everything that browsers sent, with headers and bodies. */
  const requests: Request[] = []

  beforeAll(async () => {
    root = mkdtempSync(path.join(tmpdir(), 'fusion-dashboard-'))
    const folder = path.join(root, example)
    mkdirSync(path.dirname(folder))
    const isSource = (file: string) => !/node_modules|__generated__|dist$/.test(path.relative(projectRoot, file))
    cpSync(path.join(projectRoot, example), folder, { recursive: true, filter: isSource })
    cpSync(path.join(projectRoot, 'schema.graphql'), path.join(root, 'schema.graphql'))
    symlinkSync(path.join(projectRoot, example, 'node_modules'), path.join(folder, 'node_modules'))
    // The package of clients.
    symlinkSync(path.join(projectRoot, 'node_modules'), path.join(root, 'node_modules'))
    // `npm ci` does this.
    runScript('generate')

    const start = readBlocks(`${example}/README.md`).find(({ code }) => code.includes('TRUSTED_DOCUMENTS='))?.code ?? ''
    const [, fetching = ''] = /FETCH_PRIVATE_NETWORKS=(\S+)/.exec(start) ?? []
    const [, documents = ''] = /TRUSTED_DOCUMENTS=(\S+)/.exec(start) ?? []
    writeFileSync(path.join(root, 'documents.json'), JSON.stringify(ownDocuments))
    gatewayEnv = {
      DATA_DIR: createDataDir(path.join(root, 'data')),
      PORT: String(await freePort()),
      FETCH_PRIVATE_NETWORKS: fetching,
      TRUSTED_DOCUMENTS: `${path.join(root, documents)},${path.join(root, 'documents.json')}`,
    }
    gateway = await startGateway(gatewayEnv)
    key = readFileSync(path.join(root, 'data/demo-key'), 'utf8').trim()
    dashboard = await startDashboard('npm', ['start', '--prefix', folder])
    browser = await launchChromium(executablePath ?? '')
  }, 180_000)
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close()
  })
  afterAll(async () => {
    await browser?.close()
    await dashboard?.stop()
    await gateway?.stop()
    rmSync(root, { recursive: true })
  })

  /** The scripts run on the Node of this process, as they do below the project's folder. */
  function environment(): NodeJS.ProcessEnv {
    // Vitest sets NODE_ENV, and Vite would build for development.
    const { NODE_ENV: _, ...env } = process.env
    return { ...env, TMPDIR: root, PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}` }
  }

  function runScript(name: string): void {
    execFileSync('npm', ['run', name, '--prefix', path.join(root, example)], { env: environment(), stdio: 'pipe' })
  }

  /** Starts the dashboard, with the demo key unless `env` has another. */
  async function startDashboard(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const child = spawn(command, args, {
      env: { ...environment(), GATEWAY_URL: gateway.address, PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const address = await new Promise<string>((resolve, reject) => {
      const read = (chunk: Buffer) => {
        output += chunk.toString()
        const [, found] = /The dashboard is at (http:\/\/[\d.:]+)/.exec(output) ?? []
        if (found) resolve(found)
      }
      child.stdout.on('data', read)
      child.stderr.on('data', read)
      child.once('exit', (code) => reject(new Error(`The dashboard exited with ${code}:\n${output}`)))
    })
    const stop = async () => {
      const exited = once(child, 'exit')
      child.kill()
      await exited
    }
    return { address, stop, output: () => output }
  }

  async function open(scheme: 'light' | 'dark' = 'light') {
    const visit = await openPage(browser, dashboard.address, scheme)
    visit.page.on('request', (request) => requests.push(request))
    await visit.page.goto(dashboard.address)
    return visit
  }

  async function signInAs(page: Page, user: string, { contacts = false } = {}) {
    await page.getByLabel('User').selectOption({ value: user })
    if (contacts) await page.getByLabel('contact data').check()
    await page.getByRole('button', { name: 'Sign in as a creator' }).click()
    await page.getByRole('article').first().waitFor()
  }

  async function signInAsStaff(page: Page) {
    // A test that rejects requests must not reject that of the stream.
    const stream = page.waitForResponse(
      (response) => response.headers()['content-type']?.startsWith('text/event-stream') === true,
    )
    await page.getByRole('button', { name: 'Sign in as staff' }).click()
    await page.getByRole('row').nth(10).waitFor()
    await stream
  }

  /** Sends an operation of the dashboard with the token of the page. */
  async function sendAs(authorization: string, operation: string, variables: object) {
    const file = path.join(root, example, 'src/__generated__/persisted-documents.json')
    const documents = Object.entries<string>(JSON.parse(readFileSync(file, 'utf8')))
    const [documentId] = documents.find(([, text]) => text.includes(` ${operation}(`)) ?? []
    const response = await fetch(`${dashboard.address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: JSON.stringify({ documentId, variables }),
    })
    return response.json()
  }

  /** Synchronises a profile, as the backend of a platform does. */
  async function sync(input: object) {
    const synced = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify({ documentId: 'sync', variables: { input } }),
    })
    expect(await synced.json()).toMatchObject({ data: { syncProfile: { userErrors: [] } } })
  }

  const lastAuthorization = () => requests.findLast((request) => request.headers()['authorization'])?.headers() ?? {}

  describe.each(['light', 'dark'] as const)('in %s colours', (scheme) => {
    it('every page loads from its own origin, has no errors, and can be used by everyone', async () => {
      const { page, foreignRequests, errors } = await open(scheme)
      await page.getByLabel('User').waitFor()
      expect(await barriers(page)).toEqual([])
      await signInAs(page, 'usr_demo_1')
      expect(await barriers(page)).toEqual([])
      await page.getByRole('button', { name: 'Sign out' }).click()
      await signInAsStaff(page)
      await page.getByText('Jobs by status').waitFor()
      expect(await barriers(page)).toEqual([])
      await page.getByRole('link', { name: 'Jobs' }).click()
      await page.getByRole('listitem', { name: 'job_demo_1' }).waitFor()
      expect(await barriers(page)).toEqual([])
      await page.getByRole('listitem', { name: 'job_demo_1' }).getByRole('link').click()
      await page.getByText('Attempts').waitFor()
      expect(await barriers(page)).toEqual([])
      expect([foreignRequests, errors]).toEqual([[], []])
    })
  })

  it('fits a narrow screen', async () => {
    const { page } = await open()
    await page.setViewportSize({ width: 320, height: 640 })
    const overflow = () =>
      page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    await page.getByLabel('User').waitFor()
    expect(await overflow()).toBe(0)
    await signInAs(page, 'usr_demo_1')
    expect(await overflow()).toBe(0)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await signInAsStaff(page)
    expect(await overflow()).toBe(0)
    // The columns that sort are visible without scrolling.
    await page.setViewportSize({ width: 390, height: 844 })
    for (const name of ['Followers', 'Updated']) {
      const { x = 0, width = 0 } = (await page.getByRole('columnheader', { name }).boundingBox()) ?? {}
      expect(x + width, name).toBeLessThanOrEqual(371)
    }
    await page.getByRole('link', { name: 'Jobs' }).click()
    await page.getByRole('listitem', { name: 'job_demo_1' }).getByRole('link').click()
    await page.getByText('Attempts').waitFor()
    expect(await overflow()).toBe(0)
  })

  it('a creator sees the own accounts, and why values are missing', async () => {
    await sync({ accountId: 'acc_demo_3_1', watchTimeInHours: null, unsupportedFields: ['watchTimeInHours'] })
    const { page, errors } = await open()
    await signInAs(page, 'usr_demo_3')
    const accounts = page.getByRole('article')
    expect(await accounts.count()).toBe(3)
    const [account] = [accounts.filter({ has: page.locator('#acc_demo_3_1') })]
    expect(await account?.getByText(/^(Connected|Expired|Disconnected)$/).count()).toBe(1)
    expect(await valueBeside(account, 'Watch hours')).toBe('unsupported')
    expect(await valueBeside(account, 'Nickname')).toBe('unknown')
    for (const field of ['Email', 'Phone', 'Address', 'Born'])
      expect(await valueBeside(account, field)).toBe('withheld')

    // The gateway itself refuses the rest.
    const { authorization = '' } = lastAuthorization()
    const orderBy = { field: 'FOLLOWERS_COUNT', direction: 'DESC' }
    const { data } = await sendAs(authorization, 'Creators', { first: 100, orderBy })
    const owners = data.searchProfiles.nodes.map((node: { account: { user: { id: string } } }) => node.account.user.id)
    expect(owners).toEqual(['usr_demo_3', 'usr_demo_3', 'usr_demo_3'])
    expect(await sendAs(authorization, 'FetchFeed', { payload: {} })).toMatchObject({
      errors: [{ extensions: { code: 'FORBIDDEN' } }],
    })

    await page.getByRole('button', { name: 'Sign out' }).click()
    await signInAs(page, 'usr_demo_3', { contacts: true })
    expect(await valueBeside(account, 'Email')).toContain('@')
    expect(await account?.getByText('withheld').count()).toBe(0)
    expect(errors).toEqual([])
  })

  it('staff search, sort, filter and page, and the back button returns', async () => {
    const { page, errors } = await open()
    await signInAsStaff(page)
    const numbers = page.getByRole('region', { name: 'Numbers' })
    await numbers.getByText('Accounts by platform').waitFor()
    expect(await numbers.locator('dd').allTextContents()).toEqual(['25', '75', '75', ...Array(5).fill('15')])
    const column = (name: string) => page.locator(`tbody tr > :nth-child(${name})`)
    const followers = () =>
      column('2').evaluateAll((cells) => cells.map((cell) => Number(cell.getAttribute('title')?.replaceAll(',', ''))))
    const creators = () => column('1').allTextContents()

    const largest = await followers()
    expect(largest).toHaveLength(10)
    expect(largest).toEqual(largest.toSorted((one, other) => other - one))
    await answered(page, () => page.getByRole('button', { name: 'Followers' }).click())
    await page.locator('[aria-sort=ascending]').waitFor()
    const smallest = await followers()
    expect(smallest).toEqual(smallest.toSorted((one, other) => one - other))
    expect(smallest[0]).toBeLessThan(largest[0] ?? 0)

    const first = await creators()
    await answered(page, () => page.getByRole('button', { name: 'Next' }).click())
    const second = await creators()
    expect(second).toHaveLength(10)
    expect(second.filter((creator) => first.includes(creator))).toEqual([])
    await answered(page, () => page.getByRole('button', { name: 'Previous' }).click())
    expect(await creators()).toEqual(first)
    await answered(page, () => page.goBack())
    expect(await creators()).toEqual(second)

    await answered(page, () => page.getByLabel('Platform').selectOption('Twitch'))
    expect(new Set(await column('4').allTextContents())).toEqual(new Set(['Twitch']))
    expect(await page.getByRole('search').getByRole('status').textContent()).toBe('15 profiles')

    const [name = ''] = (await column('5').allTextContents())[0]?.split(' ') ?? []
    await answered(page, () => page.getByLabel('Search').fill(name.toUpperCase()))
    expect((await creators()).every((creator) => creator.includes(name))).toBe(true)
    await answered(page, () => page.getByLabel('Search').fill('nobody has this name'))
    await page.getByText('No profile matches').waitFor()
    expect(errors).toEqual([])
  })

  it('shows changes and the rows that they concern as they happen, also after the gateway was gone', async () => {
    const { page } = await open()
    await signInAsStaff(page)
    const activity = page.getByRole('region', { name: 'Activity' })
    await activity.getByText('Live', { exact: true }).waitFor()
    await sync({ accountId: 'acc_demo_1_1', followersCount: 1_999_999_999 })
    await activity.getByRole('listitem').first().getByText('Profile synced').waitFor()
    // The largest number of the list, which is sorted by it, so the page shows it after a reload.
    await page.reload()
    const row = page.getByRole('row').nth(1)
    await row.getByTitle('1,999,999,999').waitFor()
    await activity.getByText('Live', { exact: true }).waitFor()
    await sync({ accountId: 'acc_demo_1_1', followersCount: 1_999_999_998 })
    await row.getByTitle('1,999,999,998').waitFor()
    await gateway.stop()
    await activity.getByText('Connecting again').waitFor()
    gateway = await startGateway(gatewayEnv)
    await sync({ accountId: 'acc_demo_1_1', followersCount: 1_999_999_997 })
    await row.getByTitle('1,999,999,997').waitFor()
  })

  it('shows no account that was unlinked while the page was loading', async () => {
    const { page } = await open()
    await sync({ accountId: 'acc_demo_25_1', followersCount: 1_999_999_999 })
    await page.route('**/graphql', async (route) => {
      const isActivity = route.request().postData()?.includes('RecentActivity') ?? false
      if (isActivity) {
        // If the list does not wait for the changes, it arrives now.
        await page
          .getByRole('row')
          .nth(10)
          .waitFor({ timeout: 2_000 })
          .catch(() => undefined)
        await fetch(`${gateway.address}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-api-key': key },
          body: JSON.stringify({ documentId: 'unlink' }),
        })
      }
      await route.continue()
    })
    await signInAsStaff(page)
    await page.getByRole('region', { name: 'Activity' }).getByText('Account unlinked').waitFor()
    expect(await page.getByTitle('1,999,999,999').count()).toBe(0)
  })

  it('creates one job if a response is lost and the button is clicked again', async () => {
    const { page } = await open()
    await signInAsStaff(page)
    await page.getByRole('link', { name: 'Jobs' }).click()
    await page.getByLabel('feed').fill(`${dashboard.address}/feed.xml?once`)
    const button = page.getByRole('button', { name: 'Fetch the feed' })
    // The client sends it four times.
    let lost = 0
    await page.route('**/graphql', async (route) => {
      if (lost === 4 || !route.request().postData()?.includes('FetchFeed')) return route.continue()
      lost += 1
      await route.fetch()
      await route.abort()
    })
    await button.click()
    await page.getByRole('alert').waitFor()
    await button.click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    const cards = page.getByRole('listitem').filter({ hasText: '?once' })
    await cards.getByText('3 items found').waitFor()
    expect(await cards.count()).toBe(1)
  })

  it('a job is followed to its end', async () => {
    const { page, errors } = await open()
    await signInAsStaff(page)
    await page.getByRole('link', { name: 'Jobs' }).click()
    const jobs = page.getByRole('listitem')
    await jobs.first().waitFor()
    await page.getByRole('button', { name: 'Fetch the feed' }).click()
    const succeeded = jobs.filter({ hasText: `${dashboard.address}/feed.xml` })
    await succeeded.getByText('3 items found').waitFor()
    expect(await succeeded.getByText('Succeeded').count()).toBe(1)

    await page.getByLabel('feed').fill(`${dashboard.address}/missing.xml`)
    await page.getByRole('button', { name: 'Fetch the feed' }).click()
    const failed = jobs.filter({ hasText: `${dashboard.address}/missing.xml` })
    await failed.getByText(/404/).waitFor()
    expect(await failed.getByText('Failed').count()).toBe(1)
    expect(errors).toEqual([])
  })

  it('shows that the gateway is gone, and follows jobs again when it is back', async () => {
    const { page } = await open()
    await signInAsStaff(page)
    await page.getByRole('link', { name: 'Jobs' }).click()
    await page.getByRole('listitem').first().waitFor()
    await gateway.stop()
    await page.getByText('Connecting again').waitFor()
    await page.getByRole('button', { name: 'Fetch the feed' }).click()
    await page.getByRole('alert').getByText('The service cannot be reached').waitFor()
    gateway = await startGateway(gatewayEnv)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByLabel('feed').fill(`${dashboard.address}/feed.xml?again`)
    await page.getByRole('button', { name: 'Fetch the feed' }).click()
    await page.getByRole('listitem').filter({ hasText: '?again' }).getByText('3 items found').waitFor()
  })

  it('starts, lists and signs in after the gateway was gone, without a reload', async () => {
    const { page } = await open()
    await signInAsStaff(page)
    await gateway.stop()
    const graphql = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    const session = { ...graphql, body: '{"userId":null}' }
    for (const [url, init] of [
      ['/api/users', {}],
      ['/api/session', session],
      ['/graphql', graphql],
    ] as const) {
      const response = await fetch(new URL(url, dashboard.address), init)
      expect([502, 503], url).toContain(response.status)
      expect(await response.json()).toEqual({ message: expect.stringMatching(/^The service is not available/) })
    }
    await page.reload()
    const alert = page.getByRole('alert').filter({ hasText: 'The page cannot start' })
    await alert.getByText('The service is not available').waitFor()

    const other = await open()
    const users = other.page.getByRole('alert').filter({ hasText: 'The creators cannot be listed' })
    await users.waitFor()

    gateway = await startGateway(gatewayEnv)
    await alert.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('row').nth(10).waitFor()
    await users.getByRole('button', { name: 'Try again' }).click()
    await signInAs(other.page, 'usr_demo_1')
  })

  it('shows people no message for developers', async () => {
    const main = path.join(root, example, 'server/main.ts')
    const other = await startDashboard(process.execPath, [main], { API_KEY: 'fus_wrong' })
    const response = await fetch(`${other.address}/api/users`)
    expect(response.status).toBe(502)
    expect(await response.json()).toEqual({ message: expect.stringMatching(/^The service is not available/) })
    // The operator reads why.
    expect(other.output()).toMatch(/The gateway answered: .*API key/)
    await other.stop()

    const { page } = await open()
    await signInAsStaff(page)
    await page.route('**/graphql', async (route) => {
      const errors = [{ message: 'Send a valid API key.', extensions: { code: 'INTERNAL' } }]
      await route.fulfill({ json: { errors } })
    })
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByRole('alert').getByText('Something went wrong').waitFor()
    expect(await page.getByText('API key').count()).toBe(0)
  })

  it('renews a token that the gateway rejects, and repeats the request', async () => {
    const { page, errors } = await open()
    await signInAsStaff(page)
    const before = lastAuthorization()['authorization']
    await page.route(
      '**/graphql',
      (route) => route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer expired' } }),
      { times: 1 },
    )
    await page.getByRole('button', { name: 'Next' }).click()
    await page.waitForURL(/after=/)
    await page.locator('.table:not([aria-busy=true])').waitFor()
    expect(await page.getByRole('row').count()).toBe(11)
    expect(lastAuthorization()['authorization']).not.toBe(before)
    // Chromium reports the response.
    expect(errors).toEqual([expect.stringContaining('401')])
  })

  it('signs out if the gateway rejects the renewed token too', async () => {
    const { page } = await open()
    await signInAsStaff(page)
    await page.route('**/graphql', (route) =>
      route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer expired' } }),
    )
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByRole('button', { name: 'Sign in as staff' }).waitFor()
  })

  it('keeps the session if the token cannot be renewed at the moment', async () => {
    const { page } = await open()
    await page.clock.install()
    await signInAsStaff(page)
    await page.route('**/api/session', (route) => route.fulfill({ status: 503, json: { message: 'Later.' } }))
    await page.clock.fastForward('15:10')
    const refused = page.waitForResponse('**/api/session')
    await page.getByRole('button', { name: 'Next' }).click()
    await refused
    await page.unroute('**/api/session')
    await page.waitForURL(/after=/)
    await page.locator('.table:not([aria-busy=true])').waitFor()
    expect(await page.getByRole('row').count()).toBe(11)
  })

  it('has a page for unknown addresses, and for links whose cursor is wrong', async () => {
    const { page } = await open()
    await signInAsStaff(page)
    for (const address of ['/nothing', '/job', '/jobs/1']) {
      await page.goto(`${dashboard.address}${address}`)
      await page.getByRole('heading', { name: 'Page not found' }).waitFor()
      expect(await barriers(page)).toEqual([])
    }
    await page.getByRole('link', { name: 'Go to the first page' }).click()
    await page.getByRole('row').nth(10).waitFor()
    for (const query of ['after=wrong', 'before=wrong']) {
      await page.goto(`${dashboard.address}/?${query}`)
      await page.getByRole('alert').getByText('This part of the list does not exist').waitFor()
      expect(await barriers(page)).toEqual([])
      await page.getByRole('button', { name: 'Show all creators' }).click()
      await page.getByRole('row').nth(10).waitFor()
    }
    await page.goto(`${dashboard.address}/job?id=job_missing`)
    await page.getByText('There is no job job_missing').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await signInAs(page, 'usr_demo_1')
    await page.goto(`${dashboard.address}/jobs`)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  })

  it('sends its files compressed, and browsers keep those whose names change', async () => {
    const get = (url: string, accepted = 'gzip, br') =>
      fetch(new URL(url, dashboard.address), { headers: { 'accept-encoding': accepted, accept: 'text/html' } })
    const page = await get('/')
    expect([page.headers.get('content-encoding'), page.headers.get('cache-control')]).toEqual(['br', 'no-cache'])
    const assets = (await page.text()).match(/\/assets\/[\w-]+\.(js|css)/g) ?? []
    expect(assets).toHaveLength(2)
    for (const asset of assets) {
      const sizes: number[] = []
      const texts = new Set<string>()
      for (const [accepted, encoding] of [
        ['identity', null],
        ['gzip', 'gzip'],
        ['gzip, br', 'br'],
      ] as const) {
        const response = await get(asset, accepted)
        expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
        expect(response.headers.get('content-encoding')).toBe(encoding)
        sizes.push(Number(response.headers.get('content-length')))
        texts.add(await response.text())
      }
      expect(texts.size).toBe(1)
      const [plain = 0, gzip = 0, brotli = 0] = sizes
      expect(plain).toBeGreaterThan(3 * gzip)
      expect(gzip).toBeGreaterThan(brotli)
      // The README states the size.
      const stated = /whole page has (\d+) KB of script/.exec(readPage(`${example}/README.md`))?.[1]
      if (asset.endsWith('.js')) expect(Math.round(brotli / 1_000)).toBe(Number(stated))
    }
    expect((await get('/jobs')).headers.get('cache-control')).toBe('no-cache')
  })

  it('sets a secure cookie where the connection is', async () => {
    const cookieOf = async (headers: Record<string, string>) => {
      const response = await fetch(`${dashboard.address}/api/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: '{"userId":null}',
      })
      return response.headers.get('set-cookie')
    }
    expect(await cookieOf({ 'x-forwarded-proto': 'https' })).toMatch(/; HttpOnly; Secure; SameSite=Strict$/)
    expect(await cookieOf({ 'x-forwarded-proto': 'http' })).toMatch(/; HttpOnly; SameSite=Strict$/)
    expect(await cookieOf({})).toMatch(/; HttpOnly; SameSite=Strict$/)
  })

  it('staff cancel a job and retry it', async () => {
    const { page, errors } = await open()
    await signInAsStaff(page)
    await page.getByRole('link', { name: 'Jobs' }).click()
    await page.getByLabel('feed').fill(`${dashboard.address}/absent.xml`)
    await page.getByRole('button', { name: 'Fetch the feed' }).click()
    const card = page.getByRole('listitem').filter({ hasText: 'absent.xml' })
    await card.getByText('Failed').waitFor()
    await card.getByRole('link').click()
    const job = page.getByRole('region', { name: 'The job' })
    await job.getByText('1 of 1').waitFor()
    await page.getByRole('button', { name: 'Retry' }).click()
    await job.getByText('2 of 2').waitFor()
    await job.getByText('Failed').waitFor()

    const waiting = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify({ documentId: 'wait' }),
    })
    const { data } = await waiting.json()
    await page.goto(`${dashboard.address}/job?id=${data.createJob.job.id}`)
    await job.getByText('Pending').waitFor()
    await page.getByRole('button', { name: 'Cancel the job' }).click()
    await job.getByText('Cancelled').first().waitFor()
    // Someone else is faster.
    await page.route('**/graphql', async (route) => {
      const { 'idempotency-key': _, ...headers } = route.request().headers()
      const isRetry = route.request().postData()?.includes('RetryJob') ?? false
      if (isRetry) await route.fetch({ headers })
      await route.continue()
    })
    await page.getByRole('button', { name: 'Retry' }).click()
    await job.getByText('Pending').waitFor()
    await page.getByRole('alert').filter({ hasText: 'The job was not changed' }).waitFor()
    expect(errors).toEqual([])
  })

  it('renews the token before it expires, keeps the session over a reload, and ends it', async () => {
    const { page, errors } = await open()
    await page.clock.install()
    await signInAs(page, 'usr_demo_1')
    const { authorization } = lastAuthorization()
    await page.reload()
    await page.getByRole('article').first().waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.reload()
    await signInAsStaff(page)
    const before = lastAuthorization()['authorization']
    expect(before).not.toBe(authorization)
    await page.clock.fastForward('14:40')
    await answered(page, () => page.getByRole('button', { name: 'Next' }).click())
    expect(lastAuthorization()['authorization']).not.toBe(before)
    expect(errors).toEqual([])
  })

  it.each([
    ['ended', 'DELETE', null],
    ['become that of a user', 'POST', { userId: 'usr_demo_1' }],
  ])('leaves when the session has %s in another tab', async (_, method, body) => {
    const { page } = await open()
    await page.clock.install()
    await signInAsStaff(page)
    const otherTab = page.context().request
    await otherTab.fetch(`${dashboard.address}/api/session`, { method, ...(body && { data: body }) })
    await page.clock.fastForward('14:40')
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByRole('button', { name: 'Sign in as staff' }).waitFor()
  })

  it('refuses what is not a sign-in', async () => {
    const send = (body: string) =>
      fetch(`${dashboard.address}/api/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      }).then(({ status }) => status)
    expect(await send('{"userId":"usr_of_another_tenant"}')).toBe(400)
    expect(await send('{}')).toBe(400)
    expect(await send('{')).toBe(400)
    const forged = await fetch(`${dashboard.address}/api/session`, {
      headers: { cookie: `session=${encodeURIComponent('{"userId":null}')}.forged` },
    })
    expect(await forged.json()).toBe(null)
  })

  it('browsers send ids of operations, and the API key reaches none of them', async () => {
    const { page } = await open()
    await signInAsStaff(page)
    await page.getByRole('link', { name: 'Jobs' }).click()
    await page.getByRole('listitem').first().waitFor()
    const operations = requests.filter((request) => new URL(request.url()).pathname === '/graphql')
    expect(operations.length).toBeGreaterThanOrEqual(3)
    for (const request of operations) {
      const { query, documentId, extensions } = request.postDataJSON()
      expect(query).toBeUndefined()
      expect(documentId ?? extensions.persistedQuery.sha256Hash).toMatch(/^sha256:[0-9a-f]{64}$/)
    }
    const secret = key.slice(4)
    for (const request of requests) {
      const sent = [request.url(), JSON.stringify(request.headers()), request.postData() ?? '']
      expect(sent.join()).not.toContain(secret)
    }
    const [, script = ''] = /src="([^"]+\.js)"/.exec(await (await fetch(dashboard.address)).text()) ?? []
    const session = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"userId":null}' }
    const responses = await Promise.all([
      fetch(`${dashboard.address}/api/session`, session),
      ...['/api/users', '/graphql', script].map((file) =>
        fetch(new URL(file, dashboard.address), { headers: { accept: 'text/html' } }),
      ),
    ])
    for (const response of responses) {
      expect(response.status).toBe(200)
      expect(JSON.stringify([...response.headers]) + (await response.text())).not.toContain(secret)
    }
  })
})

/** The value beside a label. */
async function valueBeside(card: Locator | undefined, label: string): Promise<string | null | undefined> {
  return card
    ?.locator('dl > div', { has: card.page().locator(`dt:text-is("${label}")`) })
    .locator('dd')
    .textContent()
}

/** Waits until the list shows the response to an action. */
async function answered(page: Page, act: () => Promise<unknown>): Promise<void> {
  const reply = page.waitForResponse((response) => response.request().postData()?.includes('orderBy') ?? false)
  await act()
  await (await reply).finished()
  await page.locator('.table:not([aria-busy=true]), .empty').waitFor()
}
