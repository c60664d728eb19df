import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'

/** A page with a profile of its own, which reaches the gateway and nothing else. */
export interface Visit {
  readonly page: Page
  /** Addresses other than the gateway's that the page, its frames or its workers asked for. */
  readonly elsewhere: readonly string[]
  /** Errors in the console, and those that nobody caught. */
  readonly complaints: readonly string[]
}

/** A name that leads to this machine, as an attacker's would after DNS rebinding. */
export const otherHostName = 'gateway.test'

const usualPlaces = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/**
 * The Chromium to test with: the one that CHROMIUM_PATH names, or one in a usual place. Without one, says on stderr what
 * is left out.
 *
 * @throws Error when there is none in CI, where nothing may be left out unseen
 */
export function findChromium(leftOut: string): string | undefined {
  const named = process.env['CHROMIUM_PATH']
  const found = (named ? [named] : usualPlaces).find((place) => existsSync(place))
  if (found !== undefined) return found
  const reason = `no Chromium at ${named || usualPlaces.join(', ')}; install it or set CHROMIUM_PATH`
  if (process.env['CI']) throw new Error(`${leftOut} must be tested in CI: ${reason}`)
  process.stderr.write(`LEFT OUT ${leftOut}: ${reason}\n`)
  return undefined
}

export function launchChromium(executablePath: string): Promise<Browser> {
  const noTraffic = [
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-quic',
  ]
  // What a route below would not see, a prefetch say, finds no address either.
  const names = `MAP ${otherHostName} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', ...noTraffic, `--host-resolver-rules=${names}`],
  })
}

/** Opens GraphiQL, and waits until it has asked for the schema and been answered. */
export async function visitGraphiql(browser: Browser, gateway: string): Promise<Visit> {
  const elsewhere: string[] = []
  const complaints: string[] = []
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  // Below vitest's own limit, so that a failure names the selector that was waited for.
  context.setDefaultTimeout(15_000)
  await context.route(
    ({ origin }) => origin !== gateway,
    (route) => {
      elsewhere.push(route.request().url())
      return route.abort()
    },
  )
  await context.routeWebSocket(/./, (socket) => {
    elsewhere.push(socket.url())
    return socket.close()
  })
  const page = await context.newPage()
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  await Promise.all([answerTo('schema', page), page.goto(`${gateway}/graphql`)])
  return { page, elsewhere, complaints }
}

/** The gateway's next answer to the page: to its question for the schema, or to what a person ran. */
export async function answerTo(question: 'schema' | 'run', page: Page): Promise<unknown> {
  const response = await page.waitForResponse((candidate) => {
    const sent = candidate.request().postData()
    return sent !== null && sent.includes('IntrospectionQuery') === (question === 'schema')
  })
  return response.json()
}
