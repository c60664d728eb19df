import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { createBrotliDecompress } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'

const pageSize = 500
const pages = 20

let app: TestApp
let large: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp()
  large = await app.createTenant()
  address = await addressOf(app)
  // 30 MB that hardly shrink: more than the kernel buffers in the two sockets.
  await createUsers(large, pages * pageSize, 2_000)
})
afterAll(() => app.close())

async function createUsers({ tenantAppId }: TestTenant, count: number, phoneBytes: number): Promise<void> {
  for (let from = 0; from < count; from += pageSize) {
    await app.database.prisma.user.createMany({
      data: Array.from({ length: pageSize }, (_, index) => ({
        tenantAppId,
        id: `user-${from + index}`,
        // Not the name, which an index has all parts of.
        phone: randomBytes(phoneBytes).toString('base64'),
        name: 'Ada',
        email: 'a@example.com',
      })),
    })
  }
}

/** Sends a request by node:http, which leaves the body as it came. */
async function send(path: string, encodings: string) {
  const headers = { 'x-api-key': large.key, 'accept-encoding': encodings }
  const request = http.get(`${address}${path}`, { agent: false, headers })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return response
}

// test/http/compression.test.ts has the rest, without megabytes.
describe('the streamed list of 30 MB, compressed', () => {
  it('is read only as fast as the client receives', async () => {
    const requested = once(app.app.server, 'request')
    const streamed = await app.statementsOf(async () => {
      const response = await send('/users', 'br')
      const [, reply] = (await requested) as [unknown, http.ServerResponse]
      while (!reply.writableNeedDrain) await setImmediate()
      // Time in which the rest could be read.
      for (let index = 0; index < pages; index += 1) await buffer(await send('/users?limit=400', 'identity'))
      response.destroy()
      await once(reply, 'close')
    })
    expect(app.log.filter(({ level }) => Number(level) >= 50)).toEqual([])
    expect(streamed.length - pages).toBeLessThan(pages)
  })

  it('is cut off when a page fails, so that it does not look complete', async () => {
    const response = await send('/users', 'br')
    let text = ''
    let renamed: Promise<unknown> | undefined
    const outcome = (async () => {
      for await (const chunk of response.pipe(createBrotliDecompress())) {
        text += String(chunk)
        renamed ??= app.database.runAsOwner('ALTER TABLE "user" RENAME TO user_away')
        await renamed
      }
    })()
    const closed = once(response, 'close').catch(() => undefined)
    await Promise.race([closed, outcome.catch(() => undefined)])
    await renamed
    await app.database.runAsOwner('ALTER TABLE user_away RENAME TO "user"')
    expect(response.complete).toBe(false)
    expect(text).not.toContain(']}]}')
  })
})
