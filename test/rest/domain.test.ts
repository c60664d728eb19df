import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const send = (method: string, url: string, body?: unknown) => app.rest(tenant, method, url, body)
const notFound = { status: 404, code: 'NOT_FOUND', detail: 'There is nothing with this id.' }
const fieldsOf = (problem: { errors: { field: string; code: string }[] }) =>
  problem.errors.map(({ field, code }) => `${field} ${code}`).toSorted()

describe('a DELETE', () => {
  it.each(['users', 'accounts'] as const)(
    'of /%s/{id} returns 204 without a body, and 404 the second time',
    async (at) => {
      const { user, account } = await createOneOfEach(app, tenant)
      const url = `/${at}/${at === 'users' ? user.id : account.id}`
      const response = await send('DELETE', url)
      expect([response.statusCode, response.body, response.headers['content-type']]).toEqual([204, '', undefined])
      expect(Number(response.headers['x-cost'])).toBeGreaterThan(0)
      expect((await send('GET', url)).json()).toMatchObject(notFound)
      expect((await send('DELETE', url)).json()).toMatchObject(notFound)
      expect((await send('GET', `/accounts/${account.id}`)).statusCode).toBe(404)
    },
  )

  it('is repeated with its idempotency key, without a second effect', async () => {
    const { user } = await createOneOfEach(app, tenant)
    const headers = { 'x-api-key': tenant.key, 'idempotency-key': `delete-${user.id}` }
    const remove = () => app.app.inject({ method: 'DELETE', url: `/users/${user.id}`, headers })
    expect((await remove()).statusCode).toBe(204)
    const again = await remove()
    expect([again.statusCode, again.headers['idempotent-replayed']]).toEqual([204, 'true'])
  })
})

describe('/users/{id}/accounts', () => {
  const link = { user_platform: 'TIKTOK', display_name: 'Ada on TikTok' }

  it('links an account, which has its Location, and lists it', async () => {
    const user = await factoriesFor(app, tenant).user()
    const url = `/users/${user.id}/accounts`
    const body = { ...link, platform_account_id: 'tt-1', status: 'expired', id: 'mine', user_id: 'other', x: 1 }
    const response = await send('POST', url, body)
    expect(response.statusCode).toBe(201)
    const account = response.json()
    const keys = ['id', 'user_platform', 'platform_account_id', 'display_name', 'status', 'created_at', 'updated_at']
    expect(Object.keys(account)).toEqual(keys)
    expect(account).toMatchObject({ ...link, platform_account_id: 'tt-1', status: 'expired' })
    expect(account.id).toMatch(/^acc_[0-9a-f-]{36}$/)
    expect(response.headers['location']).toBe(`/accounts/${account.id}`)
    expect((await send('GET', `/accounts/${account.id}`)).json()).toEqual(account)
    expect((await send('GET', url)).json()).toEqual({ accounts: [account] })
    expect((await send('POST', url, { ...link, platform_account_id: 'tt-1' })).json()).toEqual(account)
  })

  it('is 404 for a missing user, and empty for a user without accounts', async () => {
    const user = await factoriesFor(app, tenant).user()
    expect((await send('GET', `/users/${user.id}/accounts`)).json()).toEqual({ accounts: [] })
    expect((await send('GET', '/users/nobody/accounts')).json()).toMatchObject(notFound)
    const body = { ...link, platform_account_id: 'tt-2' }
    expect((await send('POST', '/users/nobody/accounts', body)).json()).toMatchObject(notFound)
  })

  it('reads any number of accounts with one statement', async () => {
    const user = await factoriesFor(app, tenant).user()
    for (let count = 0; count < 3; count += 1) await factoriesFor(app, tenant).account(user.id)
    const statements = await app.statementsOf(async () => {
      expect((await send('GET', `/users/${user.id}/accounts`)).json().accounts).toHaveLength(3)
    })
    expect(statements).toHaveLength(1)
  })

  it('rejects an account of another user, and names fields as REST does', async () => {
    const { user, account } = await createOneOfEach(app, tenant)
    const other = await factoriesFor(app, tenant).user()
    const taken = { user_platform: account.platform, platform_account_id: account.platformAccountId, display_name: 'A' }
    const conflict = await send('POST', `/users/${other.id}/accounts`, taken)
    expect([conflict.statusCode, fieldsOf(conflict.json())]).toEqual([422, ['platform_account_id CONFLICT']])
    const wrong = { user_platform: 'tiktok', platform_account_id: '', display_name: 'x'.repeat(201) }
    expect(fieldsOf((await send('POST', `/users/${user.id}/accounts`, wrong)).json())).toEqual([
      'display_name TOO_LONG',
      'platform_account_id REQUIRED',
      'user_platform INVALID_FORMAT',
    ])
    const missing = await send('POST', `/users/${user.id}/accounts`, { status: 'lost', platform: 'TIKTOK' })
    expect(missing.json().detail).toContain('status must be one of connected, disconnected, expired')
    expect(fieldsOf(missing.json())).toEqual([
      'display_name REQUIRED',
      'platform_account_id REQUIRED',
      'status INVALID_TYPE',
      'user_platform REQUIRED',
    ])
  })
})

describe('PUT /accounts/{id}/profile', () => {
  const email = { value: 'ada@example.com', type: 'work', is_verified: true, is_primary: false }
  const profile = {
    full_name: 'Ada Lovelace',
    date_of_birth: '1815:12:10',
    phone_numbers: [{ camelCase: 1, snake_case: 2 }],
    followers_count: 2 ** 40,
    joined_at: '2015-03-14T09:26:53.589Z',
    verified: true,
    emails: [email],
  }

  it('creates the profile that GET /fusion/profiles returns, and changes the given fields', async () => {
    const make = factoriesFor(app, tenant)
    const account = await make.account((await make.user()).id)
    const url = `/accounts/${account.id}/profile`
    const response = await send('PUT', url, { ...profile, unsupported_fields: ['x'], account_id: 'other' })
    expect(response.statusCode).toBe(200)
    const written = response.json()
    expect(written).toMatchObject({ ...profile, platform_account_id: account.platformAccountId })
    expect((await send('GET', `/fusion/profiles?account_ids=${account.id}`)).json()).toEqual({ profiles: [written] })
    const changed = await send('PUT', url, { full_name: null, emails: [], country: 'GB', date_of_birth: '1815-12-11' })
    const { full_name: _, ...rest } = written
    const { updated_at: __, ...body } = changed.json()
    expect(body).toEqual({ ...rest, emails: [], country: 'GB', date_of_birth: '1815:12:11' })
  })

  it('is 404 for a missing account', async () => {
    expect((await send('PUT', '/accounts/nobody/profile', profile)).json()).toMatchObject(notFound)
  })

  it('names the fields that it rejects as REST does', async () => {
    const { account } = await createOneOfEach(app, tenant)
    const reject = async (body: unknown) =>
      fieldsOf((await send('PUT', `/accounts/${account.id}/profile`, body)).json())
    expect(await reject({ followers_count: 'many', emails: [{ is_primary: 1 }], date_of_birth: '1815:13:10' })).toEqual(
      [
        'date_of_birth INVALID_TYPE',
        'emails[0].is_primary INVALID_TYPE',
        'emails[0].value REQUIRED',
        'followers_count INVALID_TYPE',
      ],
    )
    expect(await reject({ profile_picture_url: 'x', emails: [email, { value: ' ' }] })).toEqual([
      'emails.1.value REQUIRED',
      'profile_picture_url INVALID_FORMAT',
    ])
  })
})

describe('/fusion/jobs', () => {
  it('creates a job, which has its Location', async () => {
    const payload = { url: 'https://example.com', Keep_this: { runAt: 1 } }
    const run_at = '2999-01-01T00:00:00.000Z'
    const response = await send('POST', '/fusion/jobs', { job_type: 'fetch_content', payload, max_attempts: 5, run_at })
    expect(response.statusCode).toBe(201)
    const job = response.json()
    expect(job).toMatchObject({ status: 'pending', job_type: 'fetch_content', payload, attempts: 0 })
    expect(response.headers['location']).toBe(`/fusion/jobs/${job.id}`)
    expect((await send('GET', `/fusion/jobs/${job.id}`)).json()).toEqual(job)
    const row = await app.database.prisma.job.findFirst({ where: { id: job.id } })
    expect(row).toMatchObject({ maxAttempts: 5, runAt: new Date(run_at) })
  })

  it('creates one job for an idempotency key, in the header or in the body', async () => {
    const headers = { 'x-api-key': tenant.key, 'idempotency-key': 'create-job', 'content-type': 'application/json' }
    const payload = JSON.stringify({ job_type: 'a' })
    const create = () => app.app.inject({ method: 'POST', url: '/fusion/jobs', headers, payload })
    expect((await create()).json().id).toBe((await create()).json().id)
    const body = { job_type: 'a', idempotency_key: 'forever' }
    expect((await send('POST', '/fusion/jobs', body)).json().id).toBe(
      (await send('POST', '/fusion/jobs', body)).json().id,
    )
  })

  it('names the fields that it rejects as REST does', async () => {
    const reject = async (body: unknown) => fieldsOf((await send('POST', '/fusion/jobs', body)).json())
    expect(await reject({ payload: [], max_attempts: 1.5, run_at: 'now' })).toEqual([
      'job_type REQUIRED',
      'max_attempts INVALID_TYPE',
      'payload INVALID_TYPE',
      'run_at INVALID_TYPE',
    ])
    expect(await reject({ job_type: '1', max_attempts: 0 })).toEqual([
      'job_type INVALID_FORMAT',
      'max_attempts OUT_OF_RANGE',
    ])
  })

  it('lists a page of the jobs of a state and a type, and links the next one with the same filter', async () => {
    const other = await app.createTenant()
    const make = factoriesFor(app, other)
    const wanted: string[] = []
    for (let minute = 0; minute < 5; minute += 1) {
      const createdAt = new Date(Date.UTC(2026, 0, 1, 0, minute))
      wanted.push((await make.job({ status: 'FAILED', jobType: 'a & b', createdAt })).id)
      await make.job({ status: 'FAILED', jobType: 'c', createdAt })
      await make.job({ status: 'PENDING', jobType: 'a & b', createdAt })
    }
    const found: string[] = []
    let url = '/fusion/jobs?status=failed&job_type=a%20%26%20b&limit=2'
    for (let pages = 0; url && pages < 9; pages += 1) {
      const response = await app.rest(other, 'GET', url)
      const jobs = response.json().jobs as { id: string; status: string }[]
      found.push(...jobs.map(({ id }) => id))
      expect(jobs.length).toBeLessThanOrEqual(2)
      url = /^<([^>]+)>; rel="next"$/.exec(String(response.headers['link'] ?? ''))?.[1] ?? ''
    }
    expect(found).toEqual(wanted)
  })

  it('returns 20 jobs without a limit, never all of them', async () => {
    const other = await app.createTenant()
    for (let count = 0; count < 21; count += 1) await factoriesFor(app, other).job()
    const response = await app.rest(other, 'GET', '/fusion/jobs')
    expect(response.json().jobs).toHaveLength(20)
    expect(response.headers['link']).toMatch(/^<\/fusion\/jobs\?cursor=[\w-]+>; rel="next"$/)
  })

  it.each([
    ['status=lost', 'status INVALID_TYPE'],
    ['status=failed&status=pending', 'status INVALID_TYPE'],
    ['job_type=%00', 'job_type INVALID_FORMAT'],
    [`job_type=${'x'.repeat(501)}`, 'job_type TOO_LONG'],
    ['limit=501', 'limit OUT_OF_RANGE'],
    ['cursor=!', 'cursor INVALID_FORMAT'],
  ])('rejects ?%.30s', async (search, error) => {
    const response = await send('GET', `/fusion/jobs?${search}`)
    expect([response.statusCode, fieldsOf(response.json())]).toEqual([422, [error]])
  })

  it('cancels a job once, and makes it due again', async () => {
    const { id } = (await send('POST', '/fusion/jobs', { job_type: 'a' })).json()
    const cancelled = await send('POST', `/fusion/jobs/${id}/cancel`)
    expect([cancelled.statusCode, cancelled.json().status]).toEqual([200, 'cancelled'])
    const again = await send('POST', `/fusion/jobs/${id}/cancel`)
    expect([again.statusCode, fieldsOf(again.json())]).toEqual([422, ['id CONFLICT']])
    const retried = await send('POST', `/fusion/jobs/${id}/retry`)
    expect([retried.statusCode, retried.json().status]).toEqual([200, 'pending'])
    const running = await send('POST', `/fusion/jobs/${id}/retry`)
    expect([running.statusCode, fieldsOf(running.json())]).toEqual([422, ['id CONFLICT']])
  })

  it('says why a job has failed, and nothing while it is tried again', async () => {
    const { job } = factoriesFor(app, tenant)
    const error = { code: 'TIMEOUT', message: 'Too slow.', attempt: 1, at: new Date().toISOString() }
    for (const status of ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const) {
      const { id } = await job({ status, error, jobType: `with an error ${status}`, attempts: 1 })
      const shown = (await send('GET', `/fusion/jobs/${id}`)).json()
      const [listed] = (
        await send('GET', `/fusion/jobs?job_type=${encodeURIComponent(`with an error ${status}`)}`)
      ).json().jobs
      expect(listed).toEqual(shown)
      expect([status, shown.error]).toEqual([
        status,
        status === 'FAILED' ? { code: 'TIMEOUT', message: 'Too slow.' } : undefined,
      ])
      expect('error' in shown).toBe(status === 'FAILED')
    }
    const { id } = await job({ status: 'FAILED' })
    expect('error' in (await send('GET', `/fusion/jobs/${id}`)).json()).toBe(false)
  })

  it.each(['cancel', 'retry'])('is 404 for %s of a missing job', async (action) => {
    expect((await send('POST', `/fusion/jobs/nobody/${action}`)).json()).toMatchObject(notFound)
  })
})
