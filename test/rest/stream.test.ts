import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streamList } from '../../src/rest/rest.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

/** More than the buffers of two sockets take, or only some pages. */
const isWhole = process.env['TEST_ALL'] !== undefined
const userCount = isWhole ? 100_000 : 5_000
const pageSize = 500
const batchSize = 5_000

/** Each user contains this text once. */
const marker = '"tenant_app_id"'

let app: TestApp
let tenant: TestTenant
let port: number

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  // In batches, because the gateway limits how long a statement takes.
  for (let first = 1; first <= userCount; first += batchSize) {
    await app.database.prisma.$executeRaw`
      INSERT INTO "user" (tenant_app_id, id, name, email, created_at, updated_at)
      SELECT ${tenant.tenantAppId}, 'user-' || n, 'Name ' || n, n || '@example.com', to_timestamp(n), to_timestamp(n)
      FROM generate_series(${first}::int, ${first + batchSize - 1}::int) AS n`
  }
  await app.app.listen({ port: 0 })
  port = (app.app.server.address() as AddressInfo).port
})
afterAll(() => app.close())

function openUsers(): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    http.get({ port, path: '/users', headers: { 'x-api-key': tenant.key }, agent: false }, resolve).on('error', reject)
  })
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

describe(`GET /users of ${userCount} users`, () => {
  it.runIf(isWhole)('returns all users page by page, with constant memory', async () => {
    // The heap may shrink, because earlier test files of this process left garbage. It must not rise.
    collectGarbage()
    const heaps = [process.memoryUsage().heapUsed]
    let users = 0
    let text = ''
    let bytes = 0
    const statements = await app.statementsOf(async () => {
      for await (const chunk of await openUsers()) {
        bytes += (chunk as Buffer).length
        const seen = text.slice(-(marker.length - 1)) + String(chunk)
        users += seen.split(marker).length - 1
        text = seen.slice(-1_000)
        if (bytes / 2_000_000 > heaps.length - 1) {
          collectGarbage()
          heaps.push(process.memoryUsage().heapUsed)
        }
      }
    })
    expect(text.endsWith('"accounts":[]}]}')).toBe(true)
    expect(users).toBe(userCount)
    expect(statements).toHaveLength(userCount / pageSize)
    expect(heaps.length).toBeGreaterThan(5)
    const rises = heaps.map((heap, index) => heap - Math.min(...heaps.slice(0, index + 1)))
    expect(Math.max(...rises) / 1024 / 1024).toBeLessThan(16)
  })

  it.runIf(isWhole)('reads only as fast as the client receives, and stops when the client disconnects', async () => {
    let response: http.IncomingMessage | undefined
    const aborted = new Promise<void>((resolve) => {
      app.app.server.once('request', (_request, response) => response.once('close', resolve))
    })
    const statements = await app.statementsOf(async () => {
      response = await openUsers()
      await once(response, 'readable')
      response.destroy()
      await aborted
    })
    let sent = statements.length
    const sendAnother = async () => {
      const later = await app.statementsOf(() => app.database.sql.query({ text: 'SELECT 1' }))
      sent += later.length - 1
      return later.length
    }
    // The page under way may still be read.
    await expect.poll(sendAnother).toBe(1)
    // The kernel buffers up to 10 of the 22 MB in the two sockets.
    expect(sent).toBeLessThan(userCount / pageSize)
  })

  it('closes the connection without completing the response when a page fails', async () => {
    const response = await openUsers()
    let text = ''
    const outcome = (async () => {
      for await (const chunk of response) {
        text += String(chunk)
        if (text.length < 200_000) continue
        await app.database.runAsOwner('ALTER TABLE "user" RENAME TO user_away').catch(() => undefined)
      }
      return 'ended'
    })()
    await expect(outcome).rejects.toMatchObject({ code: 'ECONNRESET' })
    await app.database.runAsOwner('ALTER TABLE user_away RENAME TO "user"')
    expect(response.complete).toBe(false)
    expect(text).not.toContain(']}]}')
    expect(app.log.some(({ level }) => level === 50)).toBe(true)
  })

  it('closes the connection when the key is revoked meanwhile', async () => {
    const revoked = await app.database.prisma.apiKey.findFirstOrThrow({ where: { tenantAppId: tenant.tenantAppId } })
    const response = await openUsers()
    const outcome = (async () => {
      for await (const _ of response) {
        await app.database.prisma.apiKey.updateMany({ where: { id: revoked.id }, data: { revokedAt: new Date() } })
      }
      return 'ended'
    })()
    await expect(outcome).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(response.complete).toBe(false)
    await app.database.prisma.apiKey.updateMany({ where: { id: revoked.id }, data: { revokedAt: null } })
  })

  it('returns 500 when the first page fails', async () => {
    await app.database.runAsOwner('ALTER TABLE "user" RENAME TO user_away')
    const response = await app.rest(tenant, 'GET', '/users')
    await app.database.runAsOwner('ALTER TABLE user_away RENAME TO "user"')
    expect(response.statusCode).toBe(500)
    expect(response.json()).toMatchObject({ code: 'INTERNAL' })
    expect(response.body).not.toMatch(/user_away|relation|SELECT/)
  })

  it('answers HEAD after one page, without a body', async () => {
    const statements = await app.statementsOf(async () => {
      const response = await app.rest(tenant, 'HEAD', '/users')
      expect(response.statusCode).toBe(200)
      expect(response.body).toBe('')
    })
    expect(statements).toHaveLength(1)
  })
})

it('a list lets other work run between its pages, also if reading a page never waits', async () => {
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  let pages = 1
  const page = () => ({ items: [pages], next: pages < 100 ? 'next' : undefined })
  const list = streamList('numbers', page(), async () => {
    pages += 1
    return page()
  })
  expect(JSON.parse(await text(list)).numbers).toHaveLength(100)
  isOver = true
  expect(turns).toBeGreaterThanOrEqual(99)
})
