import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startDemo } from './demo.js'

const prismCli = path.join(import.meta.dirname, 'node_modules/@stoplight/prism-cli/dist/index.js')

let demo
let folder
let prism
let address

beforeAll(async () => {
  demo = await startDemo()
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-prism-'))
  const file = path.join(folder, 'openapi.json')
  writeFileSync(file, JSON.stringify(demo.document))
  const args = ['proxy', file, demo.address, '--host', '127.0.0.1', '--port', '0']
  prism = spawn(process.execPath, [prismCli, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: prism.stdout })) {
    address = /Prism is listening on (http:\S+)/.exec(line)?.[1]
    if (address) break
  }
  // What it writes later is not read, and must not fill the pipe.
  prism.stdout.resume()
})
afterAll(async () => {
  prism.kill()
  await once(prism, 'exit')
  rmSync(folder, { recursive: true })
  await demo.close()
})

/**
 * Sends a request through Prism. Returns the response of the gateway, and where the request and the response differ
 * from the document.
 */
async function send(method, url, { body, headers = {}, key = demo.key } = {}) {
  const response = await fetch(`${address}${url}`, {
    method,
    headers: { ...(key && { 'x-api-key': key }), ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const violations = JSON.parse(response.headers.get('sl-violations') ?? '[]')
  return { status: response.status, headers: response.headers, text, violations }
}

const user = { name: 'Ada Lovelace', email: 'ada@example.com', phone: '+44 1' }

const account = { user_platform: 'TIKTOK', platform_account_id: 'tt-1', display_name: 'Ada', status: 'connected' }
const profile = {
  full_name: 'Ada Lovelace',
  date_of_birth: '1815:12:10',
  followers_count: 12,
  joined_at: '2026-01-01T00:00:00.000Z',
  emails: [{ value: 'ada@example.com', type: null, is_verified: true }],
  phone_numbers: [{ value: '+44 1' }],
  addresses: null,
}

/** Requests that the document allows. */
const requests = [
  ['POST', '/users', { body: user }, 201],
  ['POST', '/users', { body: user, headers: { 'idempotency-key': 'create-ada' } }, 201],
  ['PUT', '/users/usr_demo_2', { body: { name: 'New', phone: null } }, 200],
  ['PUT', '/users/usr_demo_2', { body: { name: null, email: null } }, 200],
  ['GET', '/users', {}, 200],
  ['GET', '/users?limit=2', {}, 200],
  ['GET', '/users/usr_demo_1', {}, 200],
  ['GET', '/fusion/profiles?account_ids=acc_demo_1_1&account_ids=acc_demo_2_1', {}, 200],
  ['POST', '/fusion/profiles', { body: ['acc_demo_1_1', 'acc_demo_2_1'] }, 200],
  ['GET', '/fusion/jobs/job_demo_1', {}, 200],
  ['GET', '/fusion/jobs/job_demo_2', {}, 200],
  ['GET', '/users/usr_demo_1', { headers: { 'if-none-match': '*' } }, 304],
  ['GET', '/users/nobody', {}, 404],
  ['PUT', '/users/nobody', { body: { name: 'New' } }, 404],
  ['GET', '/users/usr_demo_1/accounts', {}, 200],
  ['GET', '/users/nobody/accounts', {}, 404],
  ['POST', '/users/usr_demo_1/accounts', { body: account }, 201],
  ['POST', '/users/nobody/accounts', { body: account }, 404],
  ['GET', '/accounts/acc_demo_1_1', {}, 200],
  ['PUT', '/accounts/acc_demo_1_1/profile', { body: profile }, 200],
  ['GET', '/accounts/acc_demo_1_1/profile', {}, 200],
  ['GET', '/accounts/nobody/profile', {}, 404],
  ['GET', '/accounts/acc_demo_1_1/profile/history?metric=followers', {}, 200],
  ['GET', '/accounts/nobody/profile/history?metric=followers', {}, 404],
  ['PUT', '/accounts/nobody/profile', { body: {} }, 404],
  ['DELETE', '/accounts/acc_demo_25_1', {}, 204],
  ['DELETE', '/users/usr_demo_25', { headers: { 'idempotency-key': 'delete-25' } }, 204],
  ['DELETE', '/users/nobody', {}, 404],
  ['POST', '/fusion/jobs', { body: { job_type: 'a', payload: { x: 1 }, max_attempts: null } }, 201],
  ['GET', '/fusion/jobs', {}, 200],
  ['GET', '/fusion/jobs?status=failed&job_type=fetch_content&limit=2', {}, 200],
  ['POST', '/fusion/jobs/job_demo_2/cancel', {}, 200],
  ['POST', '/fusion/jobs/job_demo_1/cancel', {}, 422],
  ['POST', '/fusion/jobs/job_demo_3/retry', {}, 200],
  ['GET', '/health', { key: '' }, 200],
  ['GET', '/ready', { key: '' }, 200],
  ['GET', '/metrics', { key: '' }, 200],
]

describe('through Prism, which compares requests and responses with the document', () => {
  it.each(requests)('%s %s %j', async (method, url, options, status) => {
    const answer = await send(method, url, options)
    expect([answer.status, answer.violations], answer.text).toEqual([status, []])
  })

  it('every operation is requested', () => {
    const requested = requests.map(([method, url]) => `${method} ${url.replace(/\?.*/, '')}`)
    for (const [path, methods] of Object.entries(demo.document.paths)) {
      for (const method of Object.keys(methods)) {
        const pattern = new RegExp(`^${method.toUpperCase()} ${path.replace(/\{\w+\}/, '\\w+')}$`)
        expect(requested, `${method} ${path}`).toContainEqual(expect.stringMatching(pattern))
      }
    }
  })

  it('the pages of a list, by their links', async () => {
    let url = '/users?limit=10'
    let pages = 0
    while (url) {
      const { status, violations, headers } = await send('GET', url)
      expect([status, violations]).toEqual([200, []])
      url = /^<([^>]+)>/.exec(headers.get('link') ?? '')?.[1]
      pages += 1
    }
    expect(pages).toBeGreaterThan(2)
  })

  it('a request without ids, which can be in the body of a GET, is rejected with a documented error', async () => {
    const { status, violations } = await send('GET', '/fusion/profiles')
    expect([status, violations]).toEqual([422, []])
  })

  it.each([
    ['POST', '/users', { body: { ...user, email: 'nobody' } }, 422],
    ['POST', '/users', { body: { name: 'Ada' } }, 422],
    ['POST', '/users', { body: { ...user, name: 'x'.repeat(201) } }, 422],
    ['POST', '/users', { body: user, headers: { 'content-type': 'text/plain' } }, 415],
    ['PUT', '/users/usr_demo_2', { body: { phone: 1 } }, 422],
    ['POST', '/users/usr_demo_1/accounts', { body: { ...account, user_platform: 'tiktok' } }, 422],
    ['POST', '/users/usr_demo_1/accounts', { body: { ...account, status: 'lost' } }, 422],
    ['PUT', '/accounts/acc_demo_1_1/profile', { body: { emails: [{}] } }, 422],
    ['POST', '/fusion/jobs', { body: {} }, 422],
    ['GET', '/fusion/jobs?status=lost', {}, 422],
    ['GET', '/users?limit=0', {}, 422],
    ['GET', '/users?limit=501', {}, 422],
    ['GET', '/users?cursor=%21', {}, 422],
    ['GET', '/users/usr_demo_1', { key: '' }, 401],
  ])('a request that the document forbids is rejected, with a documented error: %s %s %j', async (...row) => {
    const [method, url, options, status] = row
    const answer = await send(method, url, options)
    expect(answer.status, answer.text).toBe(status)
    const places = answer.violations.map(({ location }) => location[0])
    expect(new Set(places), JSON.stringify(answer.violations)).toEqual(new Set(['request']))
  })
})
