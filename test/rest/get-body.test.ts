import { execFile } from 'node:child_process'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let url: string
let accountId: string
let profileId: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const rows = await createOneOfEach(app, tenant)
  accountId = rows.account.id
  profileId = rows.profile.id
  url = `${await app.app.listen({ port: 0 })}/fusion/profiles`
})
afterAll(() => app.close())

/** Sends a GET with a body by node:http, with a length or in chunks. */
async function get(body: string, headers: http.OutgoingHttpHeaders = {}, search = '', method = 'GET') {
  const request = http.request(url + search, { method, headers: { 'x-api-key': tenant.key, ...headers } })
  request.end(body)
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject)
  })
  return { status: response.statusCode, body: JSON.parse(await text(response)) }
}

describe('POST /fusion/profiles', () => {
  const json = { 'content-type': 'application/json' }
  const send = (method: string, body: string) => get(body, { ...json, 'content-length': body.length }, '', method)

  it('returns what the GET returns, for clients that cannot send a GET with a body', async () => {
    const body = JSON.stringify([accountId, 'unknown'])
    const posted = await send('POST', body)
    expect(posted).toEqual({ status: 200, body: { profiles: [expect.objectContaining({ id: profileId })] } })
    expect(posted).toEqual(await send('GET', body))
    expect(await get('', {}, `?account_ids=${accountId}`, 'POST')).toEqual(posted)
  })

  it('rejects what the GET rejects', async () => {
    for (const body of ['{}', '[1]', 'null', JSON.stringify(Array(501).fill('a'))]) {
      const { request_id: _, instance: _instance, ...problem } = (await send('POST', body)).body
      expect(problem).toMatchObject({ status: 422 })
      expect((await send('GET', body)).body).toMatchObject(problem)
    }
  })

  it('writes nothing: it needs no idempotency key, and has no tag', async () => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'x-api-key': tenant.key, 'idempotency-key': 'k', ...json },
      body: '[]',
    })
    expect([response.status, response.headers.get('etag'), response.headers.get('cache-control')]).toEqual([
      200,
      null,
      'no-store',
    ])
    expect(await app.database.prisma.idempotentResponse.count()).toBe(0)
  })
})

describe('GET /fusion/profiles with a JSON body', () => {
  const found = () => ({ status: 200, body: { profiles: [expect.objectContaining({ id: profileId })] } })

  it.each([
    ['a length and a content type', { 'content-type': 'application/json' }],
    ['a charset', { 'content-type': 'application/json; charset=utf-8' }],
    ['no content type', {}],
    ['chunks', { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }],
  ])('is accepted from node:http with %s', async (_name, headers) => {
    const body = JSON.stringify([accountId])
    const length = 'transfer-encoding' in headers ? {} : { 'content-length': Buffer.byteLength(body) }
    expect(await get(body, { ...headers, ...length })).toEqual(found())
  })

  it('is accepted from curl', async () => {
    const key = `x-api-key: ${tenant.key}`
    const args = [
      '-sS',
      '-X',
      'GET',
      '-H',
      key,
      '-H',
      'content-type: application/json',
      '-d',
      JSON.stringify([accountId]),
      url,
    ]
    const { stdout } = await promisify(execFile)('curl', args)
    expect(JSON.parse(stdout)).toEqual(found().body)
  })

  it('is rejected if the body is not JSON or has another content type', async () => {
    const length = { 'content-length': 3 }
    expect(await get('[1,', { ...length, 'content-type': 'application/json' })).toMatchObject({ status: 400 })
    expect(await get('a=b', { ...length, 'content-type': 'application/x-www-form-urlencoded' })).toMatchObject({
      status: 415,
    })
  })

  it('can have the ids in the query too', async () => {
    const body = JSON.stringify([accountId])
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    expect(await get(body, headers, `?account_ids=${accountId}`)).toMatchObject({ status: 200 })
    expect(await get(body, headers, '?account_ids=other')).toMatchObject({ status: 422 })
  })

  it('can omit the body despite its content type', async () => {
    const response = await fetch(`${url}?account_ids=${accountId}`, {
      headers: { 'x-api-key': tenant.key, 'content-type': 'application/json' },
    })
    expect(response.status).toBe(200)
  })
})
