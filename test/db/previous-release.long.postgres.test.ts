import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../src/database.ts'
import { eraseUsers } from '../../src/domain/erasure/erase-users.ts'
import { fusion, type RunningCommand, type RunningGateway, startCommand, startGateway } from '../support/cli.ts'
import { createEmptyDir } from '../support/data-dir.ts'
import { subscribe } from '../support/events.ts'
import { present } from '../support/jobs.ts'
import { createDatabaseOfOwner, dropDatabase, hasServer, ownerUrl } from '../support/postgresql.ts'
import { locationOf } from '../support/settings.ts'

/** The commit of version 0.2.0. */
const release = '73b913dc'
const hasRelease = spawnSync('git', ['cat-file', '-e', release]).status === 0
const runFile = promisify(execFile)

const name = `fusion_release_${process.pid}`
let folder: string
let url: string
let env: Record<string, string>
let cli: string
let key: string
let gateway: RunningGateway
let worker: RunningCommand

/** Runs a command of the previous release. */
async function runOld(...args: readonly string[]): Promise<string> {
  const { stdout } = await runFile(process.execPath, [cli, ...args], { env: { ...process.env, ...env } })
  return stdout
}

beforeAll(async () => {
  if (!hasServer || !hasRelease) return
  folder = createEmptyDir()
  cli = path.join(folder, 'bin/fusion.js')
  execFileSync('tar', ['x', '-C', folder], { input: execFileSync('git', ['archive', release], { maxBuffer: 1e9 }) })
  await runFile('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder })
  await createDatabaseOfOwner(name)
  url = ownerUrl(name)
  env = { DATABASE_URL: url, SECRET_KEYS: randomBytes(32).toString('base64'), RATE_LIMIT: '0' }
  await runOld('migrate', 'deploy')
  await runOld('tenants', 'create', 'Acme')
  key = (await runOld('keys', 'create', '--tenant', 'Acme')).trim()
  gateway = await startGateway(env, [], { command: cli })
  worker = await startCommand(['work', '--handlers', path.join(folder, 'test/fixtures/handlers.ts')], env, 'working', {
    command: cli,
  })
  // The registry may be slow, and other tests keep the machine busy.
}, 900_000)
afterAll(async () => {
  worker?.child.kill()
  gateway?.child.kill()
  if (hasServer) await dropDatabase(name)
  if (folder) rmSync(folder, { recursive: true })
})

type GatewayResponse = { data: Record<string, Record<string, never>>; errors?: unknown }

async function graphql(
  address: string,
  query: string,
  variables: object = {},
  by = key,
): Promise<GatewayResponse['data']> {
  const headers = { 'x-api-key': by, 'content-type': 'application/json' }
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await response.json()) as GatewayResponse
  if (errors) throw new Error(JSON.stringify(errors))
  return data
}

async function rest(address: string, method: string, url: string, body?: object): Promise<Record<string, never>> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const response = await fetch(address + url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  if (response.status >= 300) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Record<string, never>
}

let visited = 0
/** What a client of the previous release does. */
async function visit(address: string): Promise<void> {
  visited += 1
  const number = visited
  const email = `visitor-${number}@example.com`
  const { id } = await rest(address, 'POST', '/users', { name: `Visitor ${number}`, email, phone: '1' })
  await rest(address, 'PUT', `/users/${id}`, { name: `Visited ${number}` })
  await graphql(
    address,
    `mutation ($userId: ID!, $id: String!) { linkAccount(input: { userId: $userId, platform: "YOUTUBE", platformAccountId: $id, displayName: "Channel" }) { account { id } } }`,
    { userId: id, id: `channel${number}` },
  )
  const { users } = await graphql(
    address,
    `query ($email: String!) { users(filter: { search: $email }) { nodes { id accounts { id displayName } } } }`,
    { email },
  )
  expect(users?.['nodes']).toEqual([{ id, accounts: [expect.anything()] }])
  await rest(address, 'GET', '/users?limit=5')
  await graphql(address, 'mutation ($id: ID!) { deleteUser(input: { id: $id }) { deletedUserId } }', { id })
}

/** Follows a new job through a gateway until it has succeeded. */
async function followJob(address: string): Promise<unknown> {
  const data = await graphql(address, 'mutation { createJob(input: { jobType: "count_up" }) { job { id } } }')
  const id: string = (data['createJob']?.['job'] as unknown as { id: string } | undefined)?.id ?? ''
  const events = await subscribe(address, key, `subscription { job(id: "${id}") { status } }`)
  for (;;) {
    const event = await events.next()
    const { status } = (event?.data?.data?.['job'] ?? {}) as { status?: string }
    if (status === 'SUCCEEDED' || event === undefined) {
      events.close()
      return status
    }
  }
}

describe.skipIf(!hasServer || !hasRelease)('a gateway and a worker of version 0.2.0', () => {
  it('go on without an error while and after the migrations of this version are applied', async () => {
    const failures: string[] = []
    let isOver = false
    let visits = 0
    const visitors = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        await visit(gateway.address).then(
          () => {
            visits += 1
          },
          (error: unknown) => void failures.push(String(error)),
        )
      }
    })
    const follower = (async () => {
      while (!isOver) {
        // Without the notifications that it listens to, the gateway sends nothing, and no error either.
        const status = await Promise.race([followJob(gateway.address), sleep(20_000, 'silent', { ref: false })])
        if (status !== 'SUCCEEDED') failures.push(`the job is ${status}`)
      }
    })()
    while (visits < 5 && failures.length === 0) await sleep(10)
    const { code, stdout, stderr } = await fusion(['migrate', 'deploy'], { DATABASE_URL: url })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/contract_of_0_1_0\n$/)
    const before = visits
    while (visits < before + 20 && failures.length === 0) await sleep(10)
    isOver = true
    await Promise.all([...visitors, follower])
    expect(failures).toEqual([])
  })

  it('read what this version stores, and this version reads what they store', async () => {
    const next = await startGateway(env)
    onTestFinished(() => void next.child.kill())
    const [older, newer] = [gateway.address, next.address]
    const bothWays = [
      [newer, older],
      [older, newer],
    ] as const

    const newKey = (await fusion(['keys', 'create', '--tenant', 'Acme'], env)).stdout.trim()
    for (const [, at] of bothWays) expect(await graphql(at, '{ viewer { keyName } }', {}, newKey)).toBeDefined()

    // The first token creates the key pair.
    const createTokens = async () => {
      for (const [from, to] of bothWays) {
        const mutation = 'mutation { createAccessToken(input: { scopes: ["users:read"] }) { accessToken } }'
        const created = await graphql(from, mutation, {}, newKey)
        const token = String(created['createAccessToken']?.['accessToken'])
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
        const query = '{ users(first: 1) { nodes { id } } }'
        const response = await fetch(`${to}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
        expect(await response.text()).toMatch(/^\{"data":\{"users":\{"nodes":\[\{"id":/)
      }
    }
    for (let number = 0; number < 4; number += 1) {
      await rest(newer, 'POST', '/users', { name: `Kept ${number}`, email: `kept${number}@example.com`, phone: '1' })
    }
    await createTokens()
    expect((await fusion(['signing-keys', 'rotate'], env)).code).toBe(0)
    await createTokens()
    expect(await fusion(['verify', 'secrets', '--encrypt'], env)).toMatchObject({ code: 0, stderr: '' })
    await createTokens()

    const page = `query ($orderBy: UserOrder, $after: String) {
      users(first: 2, orderBy: $orderBy, after: $after) { nodes { id } pageInfo { endCursor } } }`
    for (const orderBy of [undefined, { field: 'CREATED_AT', direction: 'DESC' }]) {
      for (const [from, to] of bothWays) {
        const first = await graphql(from, page, { orderBy })
        const { endCursor: after } = present(first['users'])['pageInfo'] as unknown as { endCursor: string }
        expect(await graphql(to, page, { orderBy, after })).toEqual(await graphql(from, page, { orderBy, after }))
      }
    }

    // The worker is of the previous version.
    for (const [from, to] of bothWays) {
      const input = { jobType: 'unknown_here', payload: { at: from }, maxAttempts: 1, idempotencyKey: from }
      const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id payload } } }'
      const { createJob } = await graphql(from, create, { input })
      expect(await graphql(to, create, { input })).toEqual({ createJob })
      const { id } = present(createJob)['job'] as unknown as { id: string }
      const claim = 'mutation { claimJobs(input: { jobTypes: ["unknown_here"] }) { leases { leaseToken job { id } } } }'
      const { claimJobs } = await graphql(to, claim)
      const [{ leaseToken } = {}] = (claimJobs?.['leases'] ?? []) as unknown as { leaseToken?: string }[]
      const fail = `mutation ($id: ID!, $leaseToken: String!) {
        failJob(input: { id: $id, leaseToken: $leaseToken, code: "NO", message: "no" }) { job { status error { code attempt } } } }`
      const failed = { status: 'FAILED', error: { code: 'NO', attempt: 1 } }
      expect(await graphql(from, fail, { id, leaseToken })).toEqual({ failJob: { job: failed } })
      const retry = 'mutation ($id: ID!) { retryJob(input: { id: $id }) { job { status } } }'
      expect(await graphql(to, retry, { id })).toEqual({ retryJob: { job: { status: 'PENDING' } } })
      const cancel = 'mutation ($id: ID!) { cancelJob(input: { id: $id }) { job { status } } }'
      expect(await graphql(from, cancel, { id })).toEqual({ cancelJob: { job: { status: 'CANCELLED' } } })
    }
    for (const [at] of bothWays) expect(await followJob(at)).toBe('SUCCEEDED')

    const createOnce = async (at: string, path: string, body: object, idempotencyKey: string) => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': idempotencyKey }
      const response = await fetch(at + path, { method: 'POST', headers, body: JSON.stringify(body) })
      return [response.status, response.headers.get('idempotent-replayed'), await response.json()] as const
    }
    const mutation = `mutation ($email: String!) {
      createUser(input: { name: "Once", email: $email, phone: "1" }) { user { id name createdAt } userErrors { code field message } } }`
    for (const [index, [from, to]] of bothWays.entries()) {
      const email = `once${index}@example.com`
      for (const [path, body] of [
        ['/users', { name: 'Once', email, phone: '1' }],
        ['/graphql', { query: mutation, variables: { email: `graphql-${email}` } }],
        ['/graphql', { query: mutation, variables: { email: 'no address' } }],
      ] as const) {
        const name = `${index} ${path} ${JSON.stringify(body).length}`.replaceAll(' ', '-')
        const [status, , response] = await createOnce(from, path, body, name)
        expect(await createOnce(to, path, body, name)).toEqual([status, 'true', response])
        const id = /usr_[\w-]+/.exec(JSON.stringify(response))?.[0]
        if (id === undefined) continue
        // A response that names a user who was deleted is erased.
        await graphql(newer, 'mutation ($id: ID!) { deleteUser(input: { id: $id }) { deletedUserId } }', { id })
        const database = await openDatabase(locationOf(url))
        do await eraseUsers(database)
        while ((await database.prisma.erasure.count()) > 0)
        await database.close()
        for (const at of [from, to]) {
          const [, , erased] = await createOnce(at, path, body, name)
          expect(JSON.stringify(erased)).toContain('IDEMPOTENCY_KEY_REUSED')
        }
      }
    }
    expect(await next.stop('SIGTERM')).toMatchObject({ code: 0 })
  })

  it('are replaced: a gateway of this version sees what they wrote, and they stop with 0', async () => {
    const next = await startGateway({ DATABASE_URL: url })
    onTestFinished(() => void next.child.kill())
    const { id } = await rest(gateway.address, 'POST', '/users', { name: 'Ünal', email: 'u@example.com', phone: '1' })
    const { users } = await graphql(next.address, '{ users(filter: { search: "ÜNAL" }) { nodes { id } } }')
    expect(users?.['nodes']).toEqual([{ id }])
    const { stdout } = await fusion(['keys', 'create', '--tenant', 'Acme'], { DATABASE_URL: url })
    const readEvents = async () => {
      const { events } = await graphql(
        next.address,
        `{ events(last: 1) { nodes { type resourceId } } }`,
        {},
        stdout.trim(),
      )
      return events?.['nodes']
    }
    await expect.poll(readEvents).toEqual([{ type: 'USER_CREATED', resourceId: id }])
    expect(await followJob(next.address)).toBe('SUCCEEDED')
    expect(await gateway.stop('SIGTERM')).toMatchObject({ code: 0 })
    expect(await worker.stop('SIGTERM')).toMatchObject({ code: 0 })
    const contracted = await fusion(['migrate', 'deploy', '--contract'], { DATABASE_URL: url })
    expect(contracted).toEqual({ code: 0, stdout: 'Nothing to apply.\nNothing to drop.\n', stderr: '' })
    await visit(next.address)
    expect(await next.stop('SIGTERM')).toMatchObject({ code: 0 })
  })
})
