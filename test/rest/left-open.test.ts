import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { readPage } from '../support/docs.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const rest = (method: string, url: string, body?: unknown) => app.rest(tenant, method, url, body)
const user = { name: 'Ada', email: 'ada@example.com', phone: '1' }
const create = async (given: object) => (await rest('POST', '/users', { ...user, ...given })).json()

/** The rows of the table, by their first cell. A test stands for each. */
const rows: Record<string, () => Promise<void>> = {
  async 'Status of a success'() {
    const { id, account, job } = await one()
    const created = await rest('POST', '/users', user)
    expect([created.statusCode, created.headers['location']]).toEqual([201, `/users/${created.json().id}`])
    const others = [
      rest('PUT', `/users/${id}`, {}),
      rest('GET', `/users/${id}`),
      rest('GET', '/users'),
      rest('GET', '/fusion/profiles', [account]),
      rest('GET', `/fusion/jobs/${job}`),
    ]
    for (const response of await Promise.all(others)) expect(response.statusCode).toBe(200)
  },
  async 'Status of an error'() {
    const send = async (url: string, headers: Record<string, string>, payload?: string) => {
      const method = payload === undefined ? 'GET' : 'POST'
      return (await app.app.inject({ method, url, headers, ...(payload !== undefined && { payload }) })).statusCode
    }
    const json = { 'x-api-key': tenant.key, 'content-type': 'application/json' }
    expect([
      await send('/users', {}),
      await send('/users', { 'x-api-key': 'wrong' }),
      await send('/users/unknown', { 'x-api-key': tenant.key }),
      await send('/fusion/jobs/unknown', { 'x-api-key': tenant.key }),
      await send('/users', json, '{"name":" "}'),
      await send('/users', json, '{'),
      await send('/users', { ...json, 'content-type': 'text/plain' }, 'a'),
    ]).toEqual([401, 401, 404, 404, 422, 400, 415])
    expect((await rest('POST', '/users')).statusCode).toBe(400)
  },
  async 'Body of an error'() {
    const { headers, ...response } = await rest('POST', '/users', { name: '' })
    expect(headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(JSON.parse(response.body)).toMatchObject({ code: 'BAD_USER_INPUT', errors: expect.any(Array), status: 422 })
  },
  async 'Null or absent: users'() {
    const { id } = await factoriesFor(app, tenant).user({ phone: null })
    expect((await rest('GET', `/users/${id}`)).json()).toMatchObject({ phone: null, accounts: [] })
    expect(await create({})).not.toHaveProperty('accounts')
  },
  async 'Null or absent: profiles, emails and jobs'() {
    const make = factoriesFor(app, tenant)
    const account = await make.account((await make.user()).id)
    await make.profile(account)
    const [profile] = (await rest('GET', '/fusion/profiles', [account.id])).json().profiles
    expect(Object.keys(profile).toSorted()).toEqual(
      ['addresses', 'emails', 'id', 'phone_numbers', 'platform_account_id', 'user_platform', 'verified'].filter(
        (key) => key in profile,
      ),
    )
    expect([profile.emails, profile.phone_numbers, profile.addresses]).toEqual([[], [], []])
    expect(Object.values(profile)).not.toContain(null)
    const { id } = await make.job({ jobType: null })
    const job = (await rest('GET', `/fusion/jobs/${id}`)).json()
    expect([job.attempts, 'job_type' in job, Object.values(job).includes(null)]).toEqual([0, false, false])
  },
  async 'Null or absent in `PUT /users/{id}`'() {
    const { id, updated_at: before } = await create({})
    const put = async (body: object) => (await rest('PUT', `/users/${id}`, body)).json()
    expect(await put({})).toMatchObject({ ...user, updated_at: before })
    expect(await put({ name: null, email: null })).toMatchObject({ ...user, updated_at: before })
    expect(await put({ phone: null })).toMatchObject({ ...user, phone: null })
  },
  async 'Null in `POST /users`'() {
    for (const name of ['name', 'email', 'phone']) {
      expect((await rest('POST', '/users', { ...user, [name]: null })).statusCode).toBe(422)
    }
  },
  async 'Duplicate users'() {
    const [first, second] = [await create({}), await create({})]
    expect(first.id).not.toBe(second.id)
  },
  async 'Duplicate ids of profiles'() {
    const { account } = await one()
    expect((await rest('GET', '/fusion/profiles', [account, account])).json().profiles).toHaveLength(1)
  },
  async 'Unknown ids of profiles'() {
    const { account } = await one()
    const { statusCode, body } = await rest('GET', '/fusion/profiles', ['unknown', account])
    expect([statusCode, JSON.parse(body).profiles.length]).toEqual([200, 1])
  },
  async 'Carrier of the ids of profiles'() {
    const [{ account: a }, { account: b }] = [await one(), await one()]
    const { body } = await rest('GET', '/fusion/profiles', [a, b])
    for (const query of [JSON.stringify([a, b]), `${a},${b}`, `${a}&account_ids=${b}`]) {
      expect((await rest('GET', `/fusion/profiles?account_ids=${query}`)).body).toBe(body)
    }
    const ids = Array.from({ length: 501 }, (_, index) => `a${index}`)
    expect((await rest('GET', '/fusion/profiles', ids)).statusCode).toBe(422)
  },
  async 'Order of users'() {
    const other = await app.createTenant()
    const make = factoriesFor(app, other)
    await make.user({ id: 'b', createdAt: new Date(2) })
    await make.user({ id: 'c', createdAt: new Date(1) })
    await make.user({ id: 'a', createdAt: new Date(2) })
    const { users } = (await app.rest(other, 'GET', '/users')).json()
    expect(users.map(({ id }: { id: string }) => id)).toEqual(['c', 'a', 'b'])
  },
  async 'Order of accounts of a user'() {
    const make = factoriesFor(app, tenant)
    const { id } = await make.user()
    const second = await make.account(id, { createdAt: new Date(2) })
    const first = await make.account(id, { createdAt: new Date(1) })
    const { accounts } = (await rest('GET', `/users/${id}`)).json()
    expect(accounts.map((account: { id: string }) => account.id)).toEqual([first.id, second.id])
  },
  async 'Order of profiles'() {
    const [a, b] = [await one(), await one()]
    const { profiles } = (await rest('GET', '/fusion/profiles', [b.account, a.account])).json()
    expect(profiles.map(({ id }: { id: string }) => id)).toEqual([b.profile, a.profile])
  },
  async Pages() {
    const other = await app.createTenant()
    for (let count = 0; count < 25; count += 1) await factoriesFor(app, other).user()
    expect((await app.rest(other, 'GET', '/users')).json().users).toHaveLength(25)
    expect((await app.rest(other, 'GET', '/users?limit=2')).json().users).toHaveLength(2)
  },
  async 'Unknown query parameters'() {
    const { statusCode, headers } = await rest('GET', '/users?page=2')
    expect([statusCode, headers['x-ignored-parameters']]).toEqual([200, 'page'])
  },
  async 'Unknown body fields'() {
    expect(await create({ age: 5 })).not.toHaveProperty('age')
  },
  async 'Format of a phone'() {
    for (const phone of ['+1 555 0100', '15550100', ' ext. 5', '📞'])
      expect((await create({ phone })).phone).toBe(phone)
    for (const phone of ['', ' ', '1'.repeat(65)]) expect(await create({ phone })).toMatchObject({ status: 422 })
  },
  async 'Format of an email'() {
    for (const email of ['Ada@Example.COM', 'a@b']) expect((await create({ email })).email).toBe(email)
    for (const email of ['a', 'a b@c', `${'a'.repeat(319)}@b`])
      expect(await create({ email })).toMatchObject({ status: 422 })
  },
  async 'Format of a name'() {
    expect((await create({ name: ' Ada  Lovelace ' })).name).toBe('Ada  Lovelace')
    for (const name of ['', ' ', 'a'.repeat(201)]) expect(await create({ name })).toMatchObject({ status: 422 })
  },
  async Times() {
    const { account } = await one()
    await rest('PUT', `/accounts/${account}/profile`, { date_of_birth: '1990-05-17' })
    const [profile] = (await rest('GET', '/fusion/profiles', [account])).json().profiles
    expect(profile.date_of_birth).toBe('1990:05:17')
    expect((await create({})).created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  },
  async 'States of a job'() {
    const states = ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const
    for (const status of states) {
      const { id } = await factoriesFor(app, tenant).job({ status })
      expect((await rest('GET', `/fusion/jobs/${id}`)).json().status).toBe(status.toLowerCase())
    }
  },
  async 'Values of `gender` and `user_platform`'() {
    const { id } = await create({})
    const link = { user_platform: 'MY_PLATFORM', platform_account_id: id, display_name: 'd' }
    const account = (await rest('POST', `/users/${id}/accounts`, link)).json()
    expect(account.user_platform).toBe('MY_PLATFORM')
    const put = async (gender: string) => (await rest('PUT', `/accounts/${account.id}/profile`, { gender })).json()
    expect(await put('NON_BINARY')).toMatchObject({ gender: 'NON_BINARY' })
    expect(await put('female')).toMatchObject({ status: 422 })
  },
  async 'Method `HEAD`, a slash at the end'() {
    const { statusCode, body } = await rest('HEAD', '/users/')
    expect([statusCode, body]).toEqual([200, ''])
  },
  async Limits() {
    const { statusCode } = await rest('POST', '/users', { ...user, name: 'a'.repeat(1024 * 1024) })
    expect(statusCode).toBe(413)
  },
}

async function one() {
  const { user: created, account, profile, job } = await createOneOfEach(app, tenant)
  return { id: created.id, account: account.id, profile: profile.id, job: job.id }
}

describe('what an old client meets, as docs/rest.md says:', () => {
  const [, section = ''] = readPage('docs/rest.md').split('## What an old client meets\n')
  const names = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| ([^|]+) \|/gm)].map(([, name = '']) => name)

  it('each row of the table has a test', () =>
    expect(Object.keys(rows)).toEqual(names.slice(1).filter((name) => !/^-+$/.test(name))))

  it.each(Object.entries(rows))('%s', (_name, test) => test())
})
