import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startUsageWriter } from '../../src/domain/usage/write-usage.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { runHere, startCommand } from '../support/cli.ts'
import { addressOf } from '../support/events.ts'
import { createOneOfEach, factoriesFor } from '../support/factories.ts'
import { always, send, startOldService } from '../support/old-service.ts'

let app: TestApp
let address: string
let tenant: TestTenant
let other: TestTenant
let folder: string
let ids: { readonly userId: string; readonly accountId: string; readonly jobId: string }

beforeAll(async () => {
  app = await startTestApp()
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-gateways-'))
  address = await addressOf(app)
  tenant = await app.createTenant()
  other = await app.createTenant()
  const { user, account, job } = await createOneOfEach(app, tenant)
  ids = { userId: user.id, accountId: account.id, jobId: job.id }
  // The other tenant has the same user with another phone number, and no account.
  const { createdAt, updatedAt, id, name, email } = user
  await factoriesFor(app, other).user({ id, name, email, createdAt, updatedAt, phone: null })
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

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
  within: readonly string[] = [],
) {
  const services = ['--old', old, '--new', address, '--port', '0', '--json']
  const command = await startCommand(['shadow', ...services, ...options], env, 'Ctrl-C ends the proxy', { within })
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
  const request = async (target: string, method = 'GET', body?: string) => {
    const response = await fetch(`${url}${target}`, { method, headers, ...(body !== undefined && { body }) })
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
  // The disk accepts nothing, which clients and the report do not notice.
  const withoutDisk = ['sh', '-c', 'ulimit -f 0 && exec "$0" "$@"']
  const options = ['--ignore', '**.tenant_app_id', '--record', path.join(folder, 'empty.ndjson')]
  const use = (url: string) => useInterface(url, tenant.key)
  const { report, output } = await throughProxy(address, options, use, { FUSION_API_KEY: other.key }, withoutDisk)
  expect(output).not.toContain(other.key)
  expect(output).toMatch(/^0 requests recorded, 7 not \(the file cannot be written: EFBIG.*\)\.$/m)
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

it('--operations sends the queries of trusted documents, and says which operations it cannot send', async () => {
  const texts = {
    names: 'query Names { users(first: 5) { nodes { id name } } }',
    phones: 'query Phones { users(first: 5) { nodes { id phone accounts { id } } } }',
    one: 'query One($id: ID!) { user(id: $id) { id } }',
    write: 'mutation Write { deleteUser(input: { id: "none" }) { deletedUserId } }',
    invalid: 'query {',
  }
  const file = path.join(folder, 'documents.json')
  writeFileSync(file, JSON.stringify(texts))
  await app.graphql(tenant, 'query Unknown { viewer { keyName } }')
  await useInterface(address, tenant.key)
  await startUsageWriter(app.services, { log: { error: () => undefined, warn: () => undefined } })()
  const run = (env: Record<string, string>, ...options: string[]) =>
    runHere(['shadow', '--old', address, '--new', address, '--operations', ...options], {
      OLD_API_KEY: tenant.key,
      TRUSTED_DOCUMENTS: file,
      ...env,
    })
  const same = await run({ FUSION_API_KEY: tenant.key }, '--fail-on', '1')
  expect(same.stdout).not.toContain('value')
  for (const line of [
    'Left out: Unknown (operations of which usage has only the hash of the document: record requests)',
    'Left out: One (operations with required variables: record requests)',
    'Left out: Write (mutations)',
    'Left out: GetUser (operations of REST routes, which --requests compares without --operations)',
    'a trusted document is invalid: invalid',
  ])
    expect(same.stderr).toContain(line)
  expect(same.stderr).toMatch(/^\d+ requests, 10 compared: 10 equal, 0 different\.$/m)
  expect(same.stderr).toMatch(/^POST \/graphql Names: old [\d.]+ ms, p95 [\d.]+ ms; new /m)
  expect(same.code).toBe(0)
  const another = JSON.parse((await run({ FUSION_API_KEY: other.key }, '--json')).stdout) as Printed
  expect(another.differences.map(({ route, path: place }) => `${route} ${place}`)).toContain(
    'POST /graphql Phones $.data.users.nodes[*].phone',
  )
  expect(await run({ TRUSTED_DOCUMENTS: '' })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Set TRUSTED_DOCUMENTS to the documents of clients, or give recorded requests'),
  })
})

it('--record writes what clients send, and --operations sends their documents with their variables', async () => {
  const texts = { one: 'query One($id: ID!) { user(id: $id) { id phone } }' }
  const [documents, requests] = [path.join(folder, 'one.json'), path.join(folder, 'recorded.ndjson')]
  writeFileSync(documents, JSON.stringify(texts))
  const query = 'query Named($name: String!) { users(filter: { search: $name }) { nodes { id } } }'
  const recording = await throughProxy(address, ['--record', requests], async (url) => {
    const headers = {
      authorization: `Bearer ${tenant.key}`,
      'x-api-key': tenant.key,
      'content-type': 'application/json',
    }
    const post = async (body: object) => {
      const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify(body) })
      return response.text()
    }
    for (const name of ['Ada', 'Grace']) await post({ query, variables: { name } })
    await post({ documentId: 'one', operationName: 'One', variables: { id: ids.userId } })
    const automatic = { persistedQuery: { version: 1, sha256Hash: hash('sha256', query) } }
    await post({ query, variables: { name: 'Edsger' }, extensions: automatic })
    await post({ variables: { name: 'Barbara' }, extensions: automatic })
    await useInterface(url, tenant.key)
    await fetch(`${url}/users`, { method: 'POST', headers, body: Buffer.from([0xff]) })
    // It has no path.
    const options = request(url, { method: 'OPTIONS', path: '*', agent: false }).end()
    const [response] = (await once(options, 'response')) as [IncomingMessage]
    await text(response)
  })
  expect(recording.output).toContain(
    '12 requests recorded, 1 not (the body is not text), 1 not (the method or the path is none that --requests reads).',
  )
  expect(statSync(requests).mode & 0o777).toBe(0o600)
  const recorded = readFileSync(requests, 'utf8')
  expect(recorded).not.toContain(tenant.key)
  expect(recorded.split('\n')).toHaveLength(13)
  const services = ['shadow', '--old', address, '--new', address]
  const env = { OLD_API_KEY: tenant.key, FUSION_API_KEY: tenant.key }
  const replayed = await runHere([...services, '--requests', requests, '--json'], env)
  expect(JSON.parse(replayed.stdout)).toMatchObject({ different: 0, notCompared: { writes: 3 } })

  const sent = await runHere([...services, '--operations', '--requests', requests, '--fail-on', '1'], {
    ...env,
    TRUSTED_DOCUMENTS: documents,
  })
  expect(sent.stderr).toContain('10 compared: 10 equal, 0 different.')
  expect(sent).toMatchObject({ code: 0, stderr: expect.not.stringContaining('One (') })
  // A service shows what is sent.
  const service = await startOldService({ instead: always({ data: null }) })
  await runHere(['shadow', '--old', service.url, '--new', service.url, '--operations', '--requests', requests], {
    TRUSTED_DOCUMENTS: documents,
  })
  await service.close()
  const bodies = service.requests.map(({ body }) => body)
  for (const value of ['Ada', 'Grace', 'Edsger', 'Barbara', ids.userId])
    expect(bodies.filter((body) => body.includes(`":"${value}"}`)).length).toBeGreaterThanOrEqual(2)
  expect(await runHere([...services, '--port', '0', '--record', requests], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('exists. Give --record another name.'),
  })
})

it('costs and statements that differ are notes', async () => {
  const service = (requested: number, statements: number) =>
    startOldService({
      instead: always(
        { data: { viewer: null }, extensions: { cost: { requested } } },
        { 'server-timing': `db;desc="${statements} statements"` },
      ),
    })
  const [one, another] = [await service(5, 1), await service(9, 2)]
  const file = path.join(folder, 'requests')
  writeFileSync(file, `POST /graphql {} ${JSON.stringify({ query: 'query Who { viewer { keyName } }' })}`)
  const { stdout } = await runHere(['shadow', '--old', one.url, '--new', another.url, '--requests', file, '--json'], {})
  await one.close()
  await another.close()
  expect(JSON.parse(stdout)).toMatchObject({
    equal: 1,
    differences: [],
    notes: [
      { route: 'POST /graphql Who', kind: 'cost', example: { old: '5', new: '9' } },
      { route: 'POST /graphql Who', kind: 'statements', example: { old: '1', new: '2' } },
    ],
  })
})
