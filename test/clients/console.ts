import type { Browser, Page, Route } from 'playwright-core'
import { openPage, type Visit } from '../support/chromium.ts'

/** Opens a page of the console, signed in with a key. */
export async function visitConsole(
  browser: Browser,
  gateway: string,
  path: string,
  key: string,
  scheme?: 'light' | 'dark',
): Promise<Visit> {
  const visit = await openPage(browser, gateway, scheme)
  await visit.page.addInitScript((value) => sessionStorage.setItem('fusion:credential', value), key)
  await visit.page.goto(`${gateway}${path}`)
  return visit
}

/** Responds to the operations of a page with this name, instead of the gateway. */
export async function answerInstead(page: Page, operation: RegExp, respond: (route: Route) => unknown): Promise<void> {
  await page.route('**/graphql', async (route) => {
    if (operation.test(route.request().postData() ?? '')) await respond(route)
    else await route.fallback()
  })
}

export const rowOf = (page: Page, name: string | RegExp) =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })

export const panelOf = (page: Page, kind: string) => page.getByRole('region', { name: kind, exact: true })
