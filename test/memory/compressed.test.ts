import { once } from 'node:events'
import http from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp({ responseCacheBytes: 16 * 1024 * 1024 })
  address = await app.app.listen({ host: '127.0.0.1', port: 0 })
  tenant = await app.createTenant()
  await app.database.runAsOwner(`INSERT INTO "user" (tenant_app_id, id, name, email, updated_at)
    SELECT '${tenant.tenantAppId}', 'usr_' || number, 'Ünï ' || md5(number::text), 'a', now() FROM generate_series(1, 500) AS number`)
})
afterAll(() => app.close())

/** Sends a request as it is: `fetch` would decompress the body. */
async function send(path: string, body: string | undefined, encoding: string) {
  const headers = { 'x-api-key': tenant.key, 'content-type': 'application/json', 'accept-encoding': encoding }
  const request = http.request(`${address}${path}`, { agent: false, method: body ? 'POST' : 'GET', headers }).end(body)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return { headers: response.headers, bytes: await buffer(response) }
}

const keptBytes = async () => (await app.services.metrics.keptResponses.bytes.get()).values[0]?.value ?? 0
const graphql = (first: number, alias: string) =>
  JSON.stringify({ query: `{ users(first: ${first}) { nodes { ${alias}: name } } }` })
const withoutCost = (text: string) => text.replace(/,"extensions":.*/, '')

describe.each([
  ['br', brotliDecompressSync],
  ['gzip', gunzipSync],
])('with the encoding %s', (encoding, decompress) => {
  it.each([
    ['a page of REST', '/users?limit=20', undefined],
    ['a long page of REST', '/users?limit=500', undefined],
    ['a query', '/graphql', graphql(40, encoding)],
    ['a long query', '/graphql', graphql(500, encoding)],
  ])('the body of %s is compressed once, kept with the response, and removed with it', async (_name, path, body) => {
    const plain = (await send(path, body, 'identity')).bytes.toString()
    await send(path, body, 'identity')
    const before = await keptBytes()
    const first = await send(path, body, encoding)
    const added = (await keptBytes()) - before
    const second = await send(path, body, encoding)
    expect((await keptBytes()) - before).toBe(added)
    for (const { headers, bytes } of [first, second]) {
      expect(headers['cache-status']).toBe('fusion; hit')
      expect(headers['content-encoding']).toBe(encoding)
      expect(headers['content-length']).toBe(String(bytes.length))
      expect(bytes.length).toBeLessThan(plain.length)
      expect(withoutCost(decompress(bytes).toString())).toBe(withoutCost(plain))
      expect(() => JSON.parse(decompress(bytes).toString())).not.toThrow()
    }
    // What is counted is the compressed body, without the cost of a query, and its place.
    expect(added).toBeGreaterThan(first.bytes.length - 500)
    expect(added).toBeLessThan(first.bytes.length + 1_000)
    await app.database.runAsOwner(`UPDATE "user" SET name = name || '.' WHERE id = 'usr_1'`)
    const changed = await send(path, body, encoding)
    expect(decompress(changed.bytes).toString()).not.toBe(decompress(second.bytes).toString())
    expect(await keptBytes()).toBeLessThan(before + added + 2_000)
  })
})
