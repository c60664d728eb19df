import path from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { findChromium, launchChromium, openPage } from '../support/chromium.ts'
import { projectRoot } from '../support/docs.ts'
import { addressOf } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'

const chromium = findChromium('WebSockets in a browser')
const script = path.join(projectRoot, 'node_modules/graphql-ws/umd/graphql-ws.js')

let app: TestApp
let tenant: TestTenant
let browser: Browser

beforeAll(async () => {
  if (!chromium) return
  app = await startTestApp()
  tenant = await app.createTenant()
  browser = await launchChromium(chromium)
})
afterAll(async () => {
  await browser?.close()
  await app?.close()
})

interface Follow {
  readonly url: string
  readonly key: string
  readonly ids: readonly string[]
}

/** Follows jobs over one socket, in the page. Resolves with their statuses when all have ended. */
async function followInPage({ url, key, ids }: Follow): Promise<{ sockets: number; statuses: string[][] }> {
  // biome-ignore lint/suspicious/noExplicitAny: the script of the package sets it
  const { createClient } = (globalThis as any).graphqlWs
  let sockets = 0
  const on = {
    opened() {
      sockets += 1
    },
  }
  const client = createClient({ url, connectionParams: { 'x-api-key': key }, retryAttempts: 0, on })
  const cancel = 'mutation ($id: ID!) { cancelJob(input: { id: $id }) { job { id } } }'
  const follow = async (id: string) => {
    const statuses: string[] = []
    const query = 'subscription ($id: ID!) { job(id: $id) { status } }'
    for await (const { data } of client.iterate({ query, variables: { id } })) {
      statuses.push(data.job.status)
      if (statuses.length === 1)
        client.subscribe({ query: cancel, variables: { id } }, { next() {}, error() {}, complete() {} })
    }
    return statuses
  }
  return { statuses: await Promise.all(ids.map(follow)), sockets }
}

describe.skipIf(!chromium)('graphql-ws in Chromium', () => {
  it.each(['of the gateway', 'of another origin'])(
    'a page %s has twenty subscriptions over one socket, more than event streams allow it',
    async (which) => {
      const gateway = await addressOf(app)
      const { page, errors } = await openPage(browser, gateway)
      // A page of another origin has no header of the gateway: its credential is explicit.
      if (which === 'of the gateway') await page.goto(`${gateway}/health`)
      await page.addScriptTag({ path: script })
      const create = factoriesFor(app, tenant)
      const ids: string[] = []
      for (let count = 0; count < 20; count += 1) ids.push((await create.job()).id)
      const url = `${gateway.replace('http', 'ws')}/graphql`
      const { statuses, sockets } = await page.evaluate(followInPage, { url, key: tenant.key, ids })
      expect(statuses).toEqual(ids.map(() => ['PENDING', 'CANCELLED']))
      expect(sockets).toBe(1)
      expect(errors).toEqual([])
    },
  )

  it('sees why the gateway closes a socket', async () => {
    const gateway = await addressOf(app)
    const { page } = await openPage(browser, gateway)
    const closed = await page.evaluate(
      async (url) => {
        const socket = new WebSocket(url, 'graphql-ws')
        const { code, reason } = await new Promise<CloseEvent>((resolve) => socket.addEventListener('close', resolve))
        return { code, reason }
      },
      `${gateway.replace('http', 'ws')}/graphql`,
    )
    expect(closed).toEqual({ code: 4406, reason: expect.stringContaining('graphql-transport-ws') })
  })
})
