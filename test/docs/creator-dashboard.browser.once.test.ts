import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Browser, Locator, Page, Request } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findChromium, launchChromium, openPage } from '../support/chromium.ts'
import { type RunningGateway, startGateway } from '../support/cli.ts'
import { freePort } from '../support/cluster.ts'
import { createDataDir } from '../support/data-dir.ts'
import { projectRoot, readBlocks } from '../support/docs.ts'

const example = 'examples/creator-dashboard'
const executablePath = isInstalled() ? findChromium('The creator dashboard') : undefined

/** @throws Error in CI if the packages are missing, because CI must not skip tests */
function isInstalled(): boolean {
  if (existsSync(path.join(projectRoot, example, 'node_modules'))) return true
  const reason = `run npm ci --prefix ${example}`
  if (process.env['CI']) throw new Error(`The creator dashboard must be tested in CI: ${reason}`)
  process.stderr.write(`SKIPPED The creator dashboard: ${reason}\n`)
  return false
}

/** What the gateway trusts besides the operations of the dashboard. */
const ownDocuments = {
  sync: `mutation Sync($input: SyncProfileInput!) { syncProfile(input: $input) { userErrors { message } } }`,
}

describe.skipIf(executablePath === undefined)('the creator dashboard', () => {
  let root: string
  let gatewayEnv: Record<string, string>
  let gateway: RunningGateway
  let dashboard: { readonly address: string; stop(): Promise<unknown> }
  let browser: Browser
  let key: string
  let axe: string
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
    dashboard = await startDashboard(folder)
    axe = readFileSync(path.join(folder, 'node_modules/axe-core/axe.min.js'), 'utf8')
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
    return { ...env, PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}` }
  }

  function runScript(name: string): void {
    execFileSync('npm', ['run', name, '--prefix', path.join(root, example)], { env: environment(), stdio: 'pipe' })
  }

  /** Builds and starts the dashboard with the demo key, as `npm start` does. */
  async function startDashboard(folder: string) {
    const child = spawn('npm', ['start', '--prefix', folder], {
      env: { ...environment(), GATEWAY_URL: gateway.address, PORT: '0' },
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
    return { address, stop }
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
    await page.getByRole('button', { name: 'Sign in as staff' }).click()
    await page.getByRole('row').nth(10).waitFor()
  }

  /** What axe finds against WCAG 2.2 AA and its own rules. */
  async function barriers(page: Page): Promise<string[]> {
    await page.evaluate(axe)
    return page.evaluate(async () => {
      const { violations } = await (globalThis as unknown as Axe).axe.run()
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
    })
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
  })

  it('a creator sees the own accounts, and why values are missing', async () => {
    const input = { accountId: 'acc_demo_3_1', watchTimeInHours: null, unsupportedFields: ['watchTimeInHours'] }
    const synced = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify({ documentId: 'sync', variables: { input } }),
    })
    expect(await synced.json()).toMatchObject({ data: { syncProfile: { userErrors: [] } } })

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
      column('6').evaluateAll((cells) => cells.map((cell) => Number(cell.getAttribute('title')?.replaceAll(',', ''))))
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
    expect(new Set(await column('2').allTextContents())).toEqual(new Set(['Twitch']))
    expect(await page.getByRole('search').getByRole('status').textContent()).toBe('15 profiles')

    const [name = ''] = (await column('3').allTextContents())[0]?.split(' ') ?? []
    await answered(page, () => page.getByLabel('Search').fill(name.toUpperCase()))
    expect((await creators()).every((creator) => creator.includes(name))).toBe(true)
    await answered(page, () => page.getByLabel('Search').fill('nobody has this name'))
    await page.getByText('No profile matches').waitFor()
    expect(errors).toEqual([])
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
    await page.getByRole('alert').getByText('The gateway cannot be reached').waitFor()
    gateway = await startGateway(gatewayEnv)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByLabel('feed').fill(`${dashboard.address}/feed.xml?again`)
    await page.getByRole('button', { name: 'Fetch the feed' }).click()
    await page.getByRole('listitem').filter({ hasText: '?again' }).getByText('3 items found').waitFor()
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
      const { query, extensions } = request.postDataJSON()
      expect(query).toBeUndefined()
      expect(extensions.persistedQuery.sha256Hash).toMatch(/^sha256:[0-9a-f]{64}$/)
    }
    const secret = key.slice(4)
    for (const request of requests) {
      const sent = [request.url(), JSON.stringify(request.headers()), request.postData() ?? '']
      expect(sent.join()).not.toContain(secret)
    }
    const [, script = ''] = /src="([^"]+\.js)"/.exec(await (await fetch(dashboard.address)).text()) ?? []
    const session = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"userId":null}' }
    const answers = await Promise.all([
      fetch(`${dashboard.address}/api/session`, session),
      ...['/api/users', '/graphql', script].map((file) =>
        fetch(new URL(file, dashboard.address), { headers: { accept: 'text/html' } }),
      ),
    ])
    for (const answer of answers) {
      expect(answer.status).toBe(200)
      expect(JSON.stringify([...answer.headers]) + (await answer.text())).not.toContain(secret)
    }
  })
})

interface Axe {
  readonly axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
}

/** The value beside a label. */
async function valueBeside(card: Locator | undefined, label: string): Promise<string | null | undefined> {
  return card
    ?.locator('dl > div', { has: card.page().locator(`dt:text-is("${label}")`) })
    .locator('dd')
    .textContent()
}

/** Waits until the list shows the response to an action. */
async function answered(page: Page, act: () => Promise<unknown>): Promise<void> {
  const answer = page.waitForResponse((response) => response.request().postData()?.includes('orderBy') ?? false)
  await act()
  await (await answer).finished()
  await page.locator('.table:not([aria-busy=true]), .empty').waitFor()
}
