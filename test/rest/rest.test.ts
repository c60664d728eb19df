import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

const at = new Date('2026-03-04T05:06:07.089Z')
const iso = at.toISOString()

describe('POST /users', () => {
  it('returns 201 with the user without accounts, and its Location', async () => {
    const response = await app.rest(tenant, 'POST', '/users', {
      name: ' Ada ',
      email: 'ada@example.com',
      phone: '+44 1',
    })
    expect(response.statusCode).toBe(201)
    const user = response.json()
    expect(Object.keys(user)).toEqual(['id', 'created_at', 'updated_at', 'name', 'email', 'phone', 'tenant_app_id'])
    expect(user).toMatchObject({
      name: 'Ada',
      email: 'ada@example.com',
      phone: '+44 1',
      tenant_app_id: tenant.tenantAppId,
    })
    expect(user.id).toMatch(/^usr_[0-9a-f-]{36}$/)
    expect(user.created_at).toBe(user.updated_at)
    expect(response.headers['location']).toBe(`/users/${user.id}`)
    expect((await app.rest(tenant, 'GET', `${response.headers['location']}`)).json()).toEqual({ ...user, accounts: [] })
  })

  it('ignores unknown fields', async () => {
    const body = '{"name":"A","email":"a@b","phone":"1","id":"mine","tenant_app_id":"x","__proto__":{"phone":2},"z":{}}'
    const headers = { 'x-api-key': tenant.key, 'content-type': 'application/json' }
    const response = await app.app.inject({ method: 'POST', url: '/users', headers, payload: body })
    expect(response.statusCode).toBe(201)
    expect(response.json()).toMatchObject({ phone: '1', tenant_app_id: tenant.tenantAppId })
    expect(response.json().id).not.toBe('mine')
  })
})

describe('GET /users/{id}', () => {
  it('returns the full user with its keys in the documented order', async () => {
    const create = factoriesFor(app, tenant)
    const user = await create.user({ id: 'user/with ünusual id', phone: null, createdAt: at, updatedAt: at })
    await create.account(user.id, {
      id: 'acc-1',
      platform: 'TIKTOK',
      platformAccountId: 'tt-1',
      displayName: 'On TikTok',
    })
    const response = await app.rest(tenant, 'GET', `/users/${encodeURIComponent(user.id)}`)
    expect(response.statusCode).toBe(200)
    expect(response.body).toBe(
      JSON.stringify({
        id: user.id,
        created_at: iso,
        updated_at: iso,
        name: user.name,
        email: user.email,
        phone: null,
        tenant_app_id: tenant.tenantAppId,
        accounts: [{ id: 'acc-1', user_platform: 'TIKTOK', platform_account_id: 'tt-1', display_name: 'On TikTok' }],
      }),
    )
  })

  it('answers HEAD with the headers of GET and no body', async () => {
    const { id } = await factoriesFor(app, tenant).user()
    const get = await app.rest(tenant, 'GET', `/users/${id}`)
    const head = await app.rest(tenant, 'HEAD', `/users/${id}`)
    expect(head.statusCode).toBe(200)
    expect(head.headers['content-length']).toBe(get.headers['content-length'])
    expect(head.body).toBe('')
  })
})

describe('PUT /users/{id}', () => {
  it('changes the given fields and returns the full user', async () => {
    const create = factoriesFor(app, tenant)
    const user = await create.user({ createdAt: at, updatedAt: at })
    await create.account(user.id)
    const response = await app.rest(tenant, 'PUT', `/users/${user.id}`, { name: 'New', phone: '2' })
    expect(response.statusCode).toBe(200)
    expect(response.json()).toMatchObject({ name: 'New', email: user.email, phone: '2', created_at: iso })
    expect(response.json().accounts).toHaveLength(1)
    expect(Date.parse(response.json().updated_at)).toBeGreaterThan(at.getTime())
  })

  it.each([
    ['clears the phone if it is null', { phone: null }, { phone: null }],
    ['ignores null for the name and the email', { name: null, email: null }, {}],
    ['changes nothing for an empty object', {}, {}],
    ['ignores an id in the body', { id: 'other' }, {}],
  ])('%s', async (_name, body, changed) => {
    const user = await factoriesFor(app, tenant).user({ phone: '1', createdAt: at, updatedAt: at })
    const { name, email, phone } = user
    const response = await app.rest(tenant, 'PUT', `/users/${user.id}`, body)
    expect(response.statusCode).toBe(200)
    expect(response.json()).toMatchObject({ id: user.id, name, email, phone, ...changed })
    if (Object.keys(changed).length === 0) expect(response.json().updated_at).toBe(iso)
  })
})

describe('GET /users', () => {
  it('returns all users, ordered by creation time and id', async () => {
    const other = await app.createTenant()
    const create = factoriesFor(app, other)
    const later = new Date(at.getTime() + 1)
    await create.user({ id: 'c', createdAt: at })
    await create.user({ id: 'a', createdAt: later })
    await create.user({ id: 'b', createdAt: at })
    const response = await app.rest(other, 'GET', '/users')
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(Object.keys(response.json())).toEqual(['users'])
    expect(response.json().users.map(({ id }: { id: string }) => id)).toEqual(['b', 'c', 'a'])
    expect(response.json().users[0].accounts).toEqual([])
  })

  it('returns an empty list for a tenant without users', async () => {
    expect((await app.rest(await app.createTenant(), 'GET', '/users')).body).toBe('{"users":[]}')
  })

  it('returns each user once to a client that follows Link, even if the last user of a page is deleted', async () => {
    const other = await app.createTenant()
    const create = factoriesFor(app, other)
    for (const id of ['a', 'b', 'c', 'd', 'e']) await create.user({ id, createdAt: at })
    const seen: string[] = []
    let url: string | undefined = '/users?limit=2'
    while (url) {
      const response = await app.rest(other, 'GET', url)
      expect(response.statusCode).toBe(200)
      seen.push(...response.json().users.map(({ id }: { id: string }) => id))
      if (seen.length === 2) await app.database.prisma.user.deleteMany({ where: { id: 'b' } })
      url = /^<([^>]+)>; rel="next"$/.exec(String(response.headers['link'] ?? ''))?.[1]
    }
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('returns 20 users for a cursor without a limit', async () => {
    const other = await app.createTenant()
    const create = factoriesFor(app, other)
    for (let index = 0; index < 22; index += 1)
      await create.user({ id: `u${String(index).padStart(2, '0')}`, createdAt: at })
    const first = await app.rest(other, 'GET', '/users?limit=1')
    const cursor = /cursor=([\w-]+)/.exec(String(first.headers['link']))?.[1]
    const second = await app.rest(other, 'GET', `/users?cursor=${cursor}`)
    expect(second.json().users).toHaveLength(20)
    expect(second.json().users[0].id).toBe('u01')
  })
})

describe('GET /fusion/profiles', () => {
  it('returns every documented key in order, with colons in dates and counts as numbers', async () => {
    const create = factoriesFor(app, tenant)
    const account = await create.account((await create.user()).id, { platform: 'YOUTUBE', platformAccountId: 'UC1' })
    const profile = await create.profile(account, {
      username: 'ada',
      url: 'https://youtube.example/ada',
      gender: 'FEMALE',
      fullName: 'Ada Lovelace',
      firstName: 'Ada',
      lastName: 'Lovelace',
      nickName: 'Ad',
      displayName: 'Ada L.',
      description: 'Engines',
      profilePictureUrl: 'https://youtube.example/ada.jpg',
      dateOfBirth: new Date('1990-05-17'),
      category: 'Science',
      websiteUrl: 'https://ada.example',
      country: 'GB',
      phoneNumbers: [{ z: 1, a: { nested: null } }],
      addresses: [{ city: 'London' }],
      followersCount: 9_007_199_254_740_991n,
      followingCount: 0n,
      subscribersCount: 3n,
      contentsCount: 4n,
      watchTimeInHours: 1.5,
      joinedAt: at,
      verified: false,
    })
    const email = await create.email(profile.id, { isPrimary: true, createdAt: at, updatedAt: at })
    const response = await app.rest(tenant, 'GET', '/fusion/profiles', [account.id])
    expect(response.body).toBe(
      JSON.stringify({
        profiles: [
          {
            id: profile.id,
            user_platform: 'YOUTUBE',
            username: 'ada',
            url: 'https://youtube.example/ada',
            gender: 'FEMALE',
            platform_account_id: 'UC1',
            full_name: 'Ada Lovelace',
            first_name: 'Ada',
            last_name: 'Lovelace',
            nick_name: 'Ad',
            display_name: 'Ada L.',
            description: 'Engines',
            profile_picture_url: 'https://youtube.example/ada.jpg',
            date_of_birth: '1990:05:17',
            category: 'Science',
            website_url: 'https://ada.example',
            country: 'GB',
            emails: [
              {
                value: email.value,
                type: 'work',
                is_verified: false,
                is_primary: true,
                id: email.id,
                created_at: iso,
                updated_at: iso,
                profile_id: profile.id,
              },
            ],
            phone_numbers: [{ z: 1, a: { nested: null } }],
            addresses: [{ city: 'London' }],
            followers_count: 9_007_199_254_740_991,
            following_count: 0,
            subscribers_count: 3,
            contents_count: 4,
            watch_time_in_hours: 1.5,
            joined_at: iso,
            verified: false,
          },
        ],
      }),
    )
  })

  it('omits fields without a value, and returns empty lists', async () => {
    const create = factoriesFor(app, tenant)
    const account = await create.account((await create.user()).id)
    await create.profile(account)
    const response = await app.rest(tenant, 'GET', '/fusion/profiles', [account.id])
    expect(Object.keys(response.json().profiles[0])).toEqual([
      'id',
      'user_platform',
      'platform_account_id',
      'emails',
      'phone_numbers',
      'addresses',
    ])
  })

  it('returns profiles in the requested order, without duplicates and unknown ids, for every format of the ids', async () => {
    const create = factoriesFor(app, tenant)
    const { id: userId } = await create.user()
    const one = await create.account(userId, { id: 'account one' })
    const two = await create.account(userId)
    const [first, second] = [await create.profile(one), await create.profile(two)]
    const ids = [two.id, 'unknown', one.id, two.id]
    const json = encodeURIComponent(JSON.stringify(ids))
    const repeated = ids.map((id) => `account_ids=${encodeURIComponent(id)}`).join('&')
    const responses = [
      await app.rest(tenant, 'GET', '/fusion/profiles', ids),
      await app.rest(tenant, 'GET', `/fusion/profiles?account_ids=${json}`),
      await app.rest(tenant, 'GET', `/fusion/profiles?${repeated}`),
      await app.rest(tenant, 'GET', `/fusion/profiles?account_ids=${encodeURIComponent(ids.join(','))}`),
    ]
    for (const response of responses) {
      expect(response.json().profiles.map(({ id }: { id: string }) => id)).toEqual([second.id, first.id])
    }
  })

  it('returns no profiles for an empty list of ids', async () => {
    expect((await app.rest(tenant, 'GET', '/fusion/profiles', [])).body).toBe('{"profiles":[]}')
  })
})

describe('GET /fusion/jobs/{id}', () => {
  it('returns the job with its status in lower case and its payload unchanged', async () => {
    const payload = { url: 'https://example.com', z: null, a: [1.5, 'ü'] }
    const job = await factoriesFor(app, tenant).job({
      status: 'SUCCEEDED',
      payload,
      attempts: 2,
      createdAt: at,
      updatedAt: at,
    })
    const response = await app.rest(tenant, 'GET', `/fusion/jobs/${job.id}`)
    expect(response.body).toBe(
      JSON.stringify({
        id: job.id,
        status: 'succeeded',
        job_type: 'fetch_content',
        payload,
        attempts: 2,
        created_at: iso,
        updated_at: iso,
      }),
    )
  })
})

describe('every response', () => {
  it.each(['/users', '/users/nobody', '/nowhere', '/health'])(
    'has a request id and, without an ETag, forbids caching: %s',
    async (url) => {
      const response = await app.rest(tenant, 'GET', url)
      expect(response.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
      expect(response.headers['cache-control']).toBe('no-store')
    },
  )

  it('has the request id of the client if it is valid, otherwise a generated one', async () => {
    const send = (id: string) => app.app.inject({ url: '/health', headers: { 'x-request-id': id } })
    expect((await send('trace-1:a/b=')).headers['x-request-id']).toBe('trace-1:a/b=')
    expect((await send('<script>')).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect((await send('x'.repeat(129))).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('a slash at the end of a path', () => {
  it.each([
    '/users',
    '/users?limit=1',
    '/fusion/jobs',
    '/fusion/profiles?account_ids=a',
    '/openapi.json',
    '/guides/rest',
    '/docs',
    '/graphql?query={__typename}',
  ])('changes nothing: %s', async (url) => {
    const [path = '', search] = url.split('?')
    const [one, other] = [
      await app.rest(tenant, 'GET', url),
      await app.rest(tenant, 'GET', `${path}/${search ? `?${search}` : ''}`),
    ]
    expect(one.statusCode).toBe(200)
    // The links of a page start at the page.
    expect([other.statusCode, other.body.replaceAll('"../', '"').replaceAll('../', '')]).toEqual([
      200,
      one.body.replaceAll('"./', '"').replaceAll('../', ''),
    ])
  })

  it('names the user of a path, and creates one', async () => {
    const body = { name: 'Ada', email: 'ada@example.com', phone: '1' }
    const { id } = (await app.rest(tenant, 'POST', '/users/', body)).json()
    expect((await app.rest(tenant, 'GET', `/users/${id}/`)).json()).toMatchObject({ id, ...body })
  })
})

describe('query parameters that a route does not have', () => {
  const ignored = async (method: 'GET' | 'HEAD' | 'POST', url: string, headers = {}) => {
    const response = await app.app.inject({ method, url, headers: { 'x-api-key': tenant.key, ...headers } })
    return [response.statusCode, response.headers['x-ignored-parameters']]
  }

  it.each([
    ['/users?email=ada@example.com', 200, 'email'],
    ['/users?limit=1&emial=x&page=2&page=3', 200, 'emial, page'],
    ['/users?limit=1', 200, undefined],
    ['/users?', 200, undefined],
    ['/users/nobody?expand=accounts', 404, 'expand'],
    ['/fusion/profiles?account_ids=a&fields=id', 200, 'fields'],
    ['/fusion/profiles?ids=a', 422, 'ids'],
    ['/fusion/jobs?state=failed', 200, 'state'],
    ['/users?limit=1&%0d%0ax-injected:%20a=1&%E2%82%AC%2C=2', 200, '%0D%0Ax-injected%3A%20a, %E2%82%AC%2C'],
    ['/users?limit=1&__proto__=1&toString=2', 200, '__proto__, toString'],
    [`/users?limit=1&${'x'.repeat(2_000)}=1`, 200, 'x'.repeat(500)],
  ])('are named in the response: %.60s', async (url, status, names) => {
    expect(await ignored('GET', url)).toEqual([status, names])
    expect(await ignored('HEAD', url)).toEqual([status, names])
  })

  it('are named in a 304, and change neither the response nor its tag', async () => {
    const { headers, body } = await app.rest(tenant, 'GET', '/users?limit=1')
    const same = await app.rest(tenant, 'GET', '/users?limit=1&email=x')
    expect([same.body, same.headers['etag']]).toEqual([body, headers['etag']])
    const tag = { 'if-none-match': String(headers['etag']) }
    expect(await ignored('GET', '/users?limit=1&email=x', tag)).toEqual([304, 'email'])
  })
})
