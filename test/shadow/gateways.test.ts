import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { startCommand } from '../support/cli.ts'
import { addressOf } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { send, startOldService } from '../support/old-service.ts'

let app: TestApp
let address: string
let tenant: TestTenant
let other: TestTenant
let ids: { readonly userId: string; readonly accountId: string; readonly jobId: string }

beforeAll(async () => {
  app = await startTestApp()
  address = await addressOf(app)
  tenant = await app.createTenant()
  other = await app.createTenant()
  const { user, account, job } = await createOneOfEach(app, tenant)
  ids = { userId: user.id, accountId: account.id, jobId: job.id }
  // The other tenant has the same user with another phone number, and no account.
  const { createdAt, updatedAt, id, name, email } = user
  await factoriesFor(app, other).user({ id, name, email, createdAt, updatedAt, phone: null })
})
afterAll(() => app.close())

interface Printed {
  readonly requests: number
  readonly compared: number
  readonly equal: number
  readonly notCompared: Record<string, number>
  readonly notes: { readonly kind: string; readonly path: string }[]
  readonly differences: { readonly route: string; readonly path: string; readonly kind: string }[]
}

/**
 * Starts the command as a proxy in a process of its own, lets a client use it, ends it with Ctrl-C, and returns its
 * report.
 */
async function throughProxy(
  old: string,
  options: readonly string[],
  use: (url: string) => Promise<unknown>,
  env: Record<string, string> = {},
) {
  const services = ['--old', old, '--new', address, '--port', '0', '--json']
  const command = await startCommand(['shadow', ...services, ...options], env, 'Ctrl-C ends the proxy')
  const [, url = ''] = /at (http:\S+)\. Ctrl/.exec(command.output()) ?? []
  await use(url)
  const { code, milliseconds } = await command.stop('SIGINT')
  const output = command.output()
  const report: Printed = JSON.parse(output.slice(output.indexOf('{"old"')).split('\n')[0] ?? '')
  return { code, milliseconds, output, report }
}

/** What a client of the interface document requests. */
async function useInterface(url: string, key: string): Promise<number[]> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const statuses: number[] = []
  const request = async (path: string, method = 'GET', body?: string) => {
    const response = await fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body }) })
    await response.arrayBuffer()
    statuses.push(response.status)
  }
  await request('/users')
  await request(`/users/${ids.userId}`)
  await request('/users/unknown')
  await request(`/fusion/profiles?account_ids=${ids.accountId}`)
  await request('/fusion/profiles', 'POST', JSON.stringify([ids.accountId]))
  await request(`/fusion/jobs/${ids.jobId}`)
  await request('/users', 'POST', JSON.stringify({ name: 'n', email: 'e@example.com', phone: '1' }))
  return statuses
}

it('two gateways with the same data respond alike, over REST and GraphQL', async () => {
  const { code, milliseconds, output, report } = await throughProxy(address, ['--fail-on', '1'], async (url) => {
    expect(await useInterface(url, tenant.key)).toEqual([200, 200, 404, 200, 200, 200, 201])
    const query = 'query Names { users(first: 5) { nodes { id name accounts { id } } } }'
    const headers = { 'x-api-key': tenant.key, 'content-type': 'application/json' }
    const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
    expect(await response.json()).toMatchObject({ data: { users: {} } })
  })
  expect([report.differences, report.notCompared, report.equal]).toEqual([[], { writes: 1 }, 7])
  expect(code).toBe(0)
  expect(milliseconds).toBeLessThan(5_000)
  expect(output).not.toContain(tenant.key)
})

it('a gateway with other data differs, by route, path and kind', async () => {
  const run = (ignored: string[]) =>
    throughProxy(address, ['--ignore', ...ignored], (url) => useInterface(url, tenant.key), {
      FUSION_API_KEY: other.key,
    })
  const { report, output } = await run(['**.tenant_app_id'])
  expect(output).not.toContain(other.key)
  const found = report.differences.map(({ route, path, kind }) => `${route} ${path} ${kind}`)
  expect(found).toEqual(
    expect.arrayContaining([
      'GET /users/{id} $.phone value',
      'GET /users/{id} $.accounts[*] missing',
      'GET /users $.users[*].phone value',
      'GET /fusion/profiles $.profiles[*] missing',
      'POST /fusion/profiles $.profiles[*] missing',
      'GET /fusion/jobs/{id} status status',
    ]),
  )
})

it('a service of the interface document differs from the gateway only where it decides otherwise', async () => {
  const read = async (path: string) => {
    const response = await fetch(`${address}${path}`, { headers: { 'x-api-key': tenant.key } })
    return (await response.json()) as Record<string, unknown>
  }
  // It writes times without milliseconds of zero, and null where the gateway leaves fields out.
  const old = await startOldService({
    instead(request, response) {
      void read(request.url ?? '').then((body) => {
        const changed = JSON.parse(JSON.stringify(body).replaceAll('.000Z', '+00:00'))
        if (request.url?.startsWith('/fusion/profiles')) changed.profiles[0].category = null
        send(response, 200, changed)
      })
      return true
    },
  })
  const { report } = await throughProxy(old.url, [], async (url) => {
    for (const path of [
      '/users',
      `/users/${ids.userId}`,
      `/fusion/profiles?account_ids=${ids.accountId}`,
      `/fusion/jobs/${ids.jobId}`,
    ])
      await (await fetch(`${url}${path}`, { headers: { 'x-api-key': tenant.key } })).arrayBuffer()
  })
  await old.close()
  expect(report).toMatchObject({ compared: 4, equal: 3 })
  expect(report.differences).toMatchObject([{ path: '$.profiles[*].category', kind: 'null' }])
})
