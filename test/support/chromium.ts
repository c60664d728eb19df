import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { skip } from './skip.ts'

/** A page with its own browser profile, which can reach only the gateway. */
export interface Visit {
  readonly page: Page
  /** Addresses other than the gateway's that the page, its frames or its workers requested. */
  readonly foreignRequests: readonly string[]
  /** Errors in the console, which include violations of the content security policy, and uncaught errors. */
  readonly errors: readonly string[]
}

/** A host name that resolves to this machine, as an attacker's does after DNS rebinding. */
export const otherHostName = 'gateway.test'

const usualPlaces = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Finds Chromium at CHROMIUM_PATH or in a usual place. Without it, its tests are {@link skip}ped. */
export function findChromium(skipped: string): string | undefined {
  const named = process.env['CHROMIUM_PATH']
  const found = (named ? [named] : usualPlaces).find((place) => existsSync(place))
  if (found === undefined) {
    skip(skipped, `no Chromium at ${named || usualPlaces.join(', ')}; install it or set CHROMIUM_PATH`)
  }
  return found
}

export function launchChromium(executablePath: string): Promise<Browser> {
  const noTraffic = [
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-quic',
  ]
  // Requests that bypass the routes below, such as a prefetch, resolve no host name.
  const names = `MAP ${otherHostName} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', ...noTraffic, `--host-resolver-rules=${names}`],
  })
}

/** Opens GraphiQL, and waits for the response to its introspection query. */
export async function visitGraphiql(browser: Browser, gateway: string, scheme?: 'light' | 'dark'): Promise<Visit> {
  const visit = await openPage(browser, gateway, scheme)
  await Promise.all([responseTo('schema', visit.page), visit.page.goto(`${gateway}/graphql`)])
  return visit
}

/** Opens an empty page, which can reach only the gateway. */
export async function openPage(
  browser: Browser,
  gateway: string,
  colorScheme: 'light' | 'dark' = 'light',
): Promise<Visit> {
  const foreignRequests: string[] = []
  const errors: string[] = []
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme })
  // Below vitest's own limit, so that a failure names the missing selector.
  context.setDefaultTimeout(60_000)
  await context.route(
    ({ origin }) => origin !== gateway,
    (route) => {
      foreignRequests.push(route.request().url())
      return route.abort()
    },
  )
  await context.routeWebSocket(
    ({ host }) => host !== new URL(gateway).host,
    (socket) => {
      foreignRequests.push(socket.url())
      return socket.close()
    },
  )
  const page = await context.newPage()
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  return { page, foreignRequests, errors }
}

/**
 * Waits for the next response to the page: to its introspection query (`schema`), or to an operation that was run
 * (`run`).
 */
export async function responseTo(kind: 'schema' | 'run', page: Page): Promise<unknown> {
  const response = await page.waitForResponse((candidate) => {
    const sent = candidate.request().postData()
    return sent !== null && sent.includes('IntrospectionQuery') === (kind === 'schema')
  })
  return response.json()
}
