import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runHere } from '../support/cli.ts'
import { type OldService, send, startOldService } from '../support/old-service.ts'

/** What a service responds. */
interface Response {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

let folder: string
let old: OldService
let other: OldService
let responses: { old: Response; new: Response }

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-shadow-'))
  const start = (side: 'old' | 'new') =>
    startOldService({
      instead(_request, response) {
        const { status = 200, headers, body } = responses[side]
        if (body instanceof Buffer) {
          response.writeHead(status, { 'content-type': 'application/json', ...headers })
          response.end(body)
        } else send(response, status, body, headers)
        return true
      },
    })
  old = await start('old')
  other = await start('new')
})
afterAll(async () => {
  await old.close()
  await other.close()
  rmSync(folder, { recursive: true })
})

interface Found {
  readonly equal: number
  readonly different: number
  readonly notCompared: Record<string, number>
  readonly notes: { readonly path: string; readonly kind: string }[]
  readonly differences: {
    readonly route: string
    readonly path: string
    readonly kind: string
    readonly responses: number
    readonly values: number
    readonly example: { readonly request: string; readonly old: string; readonly new: string }
  }[]
}

/** Sends a request to both services, which respond as given, and returns the report. */
async function compare(request: string, given: Response, givenNew: Response, ...options: string[]): Promise<Found> {
  responses = { old: given, new: givenNew }
  const file = path.join(folder, 'requests')
  writeFileSync(file, request)
  const { stdout, stderr } = await runHere(
    ['shadow', '--old', old.url, '--new', other.url, '--requests', file, '--json', ...options],
    {},
  )
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout)
}

const kindsOf = ({ differences }: Found) => differences.map(({ path: place, kind }) => `${place} ${kind}`)

/** Compares two bodies. */
const bodies = async (request: string, body: unknown, bodyOfNew: unknown, ...options: string[]) =>
  compare(request, { body }, { body: bodyOfNew }, ...options)

describe('fusion shadow finds no difference in', () => {
  const time = '2024-01-01T00:00:00Z'

  it.each([
    ['the order of keys', { id: '1', name: 'a' }, { name: 'a', id: '1' }],
    ['blanks between values', Buffer.from('{"id": "1"}'), Buffer.from('{"id":"1"}\n')],
    ['forms of a number', Buffer.from('{"n":1.0,"m":1e3}'), Buffer.from('{"n":1,"m":1000}')],
    ['milliseconds that are zero', { created_at: time }, { created_at: '2024-01-01T00:00:00.000+00:00' }],
    ['the offset of a time', { created_at: time }, { created_at: '2024-01-01T05:30:00+05:30' }],
    ['the basic form of a time', { created_at: time }, { created_at: '20240101T000000Z' }],
    ['a blank instead of the T', { created_at: time }, { created_at: '2024-01-01 00:00:00+00' }],
    [
      'zeros after milliseconds',
      { created_at: '2024-01-01T00:00:00.120Z' },
      { created_at: '2024-01-01T00:00:00.120000Z' },
    ],
  ])('%s', async (_what, one, another) => {
    const found = await bodies('GET /users/1', one, another)
    expect([found.equal, found.different, found.differences]).toEqual([1, 0, []])
  })

  it('the order of lists for which the contract has none, and notes it', async () => {
    const user = (id: string, ...accounts: string[]) => ({ id, accounts: accounts.map((one) => ({ id: one })) })
    const one = { users: [user('1', 'a', 'b'), user('2')] }
    const another = { users: [user('2'), user('1', 'b', 'a')] }
    const found = await bodies('GET /users', one, another)
    expect([found.equal, found.differences]).toEqual([1, []])
    expect(found.notes.map(({ path: place, kind }) => `${place} ${kind}`)).toEqual([
      '$.users reordered',
      '$.users[*].accounts reordered',
    ])
    const emails = (...values: string[]) => ({ profiles: [{ emails: values.map((value) => ({ value })) }] })
    expect((await bodies('GET /fusion/profiles', emails('a', 'b'), emails('b', 'a'))).different).toBe(0)
  })

  it('the charset of a type, the host of a link, and a header that only the gateway sends', async () => {
    const found = await compare(
      'GET /users/1',
      { headers: { 'content-type': 'application/json', location: 'http://old/users/1', etag: '"1"' } },
      {
        headers: {
          'content-type': 'application/json; charset=utf-8',
          location: '/users/1',
          etag: 'W/"2"',
          'x-request-id': 'r',
          deprecation: '@1',
        },
      },
    )
    expect(found.differences).toEqual([])
  })

  it('a compressed body', async () => {
    const text = JSON.stringify({ id: '1' })
    const found = await compare(
      'GET /users/1',
      { headers: { 'content-encoding': 'gzip' }, body: gzipSync(text) },
      { headers: { 'content-encoding': 'br' }, body: brotliCompressSync(text) },
    )
    expect(found.equal).toBe(1)
  })
})

describe('fusion shadow says how responses differ:', () => {
  it.each([
    ['a value', { name: 'a' }, { name: 'b' }, '$.name value'],
    ['null instead of a value', { phone: '1' }, { phone: null }, '$.phone value'],
    ['null instead of an absent field', { phone: null }, {}, '$.phone null'],
    ['an absent field instead of null', {}, { phone: null }, '$.phone null'],
    ['a missing field', { phone: '1' }, {}, '$.phone missing'],
    ['a further field', {}, { phone: '1' }, '$.phone added'],
    ['a type', { phone: '1' }, { phone: 1 }, '$.phone type'],
    ['a list instead of an object', { payload: {} }, { payload: [] }, '$.payload type'],
    [
      'a date with another separator',
      { date_of_birth: '1990:05:17' },
      { date_of_birth: '1990-05-17' },
      '$.date_of_birth value',
    ],
    ['a time', { at: '2024-01-01T00:00:00Z' }, { at: '2024-01-01T00:00:01Z' }, '$.at value'],
    ['a time without an offset', { at: '2024-01-01T00:00:00Z' }, { at: '2024-01-01T00:00:00' }, '$.at value'],
    ['microseconds', { at: '2024-01-01T00:00:00.123456Z' }, { at: '2024-01-01T00:00:00.123Z' }, '$.at precision'],
    ['the order of values', { contentIds: ['a', 'b'] }, { contentIds: ['b', 'a'] }, '$.contentIds order'],
    ['a missing entry', { contentIds: ['a', 'b'] }, { contentIds: ['a'] }, '$.contentIds[*] missing'],
    ['a further entry', { contentIds: ['a'] }, { contentIds: ['a', 'b'] }, '$.contentIds[*] added'],
    [
      'a whole number beyond 2^53',
      Buffer.from('{"n":9007199254740993}'),
      Buffer.from('{"n":9007199254740992}'),
      '$.n value',
    ],
    ['a text instead of JSON', { a: 1 }, Buffer.from('<html>'), '$ format'],
    ['no body', { a: 1 }, Buffer.alloc(0), '$ format'],
    ['keys that are data', { 'ada@example.com': 1 }, { 'ada@example.com': 2 }, '$.* value'],
  ])('%s', async (_what, one, another, kind) => {
    const found = await bodies('GET /fusion/jobs/1', one, another)
    expect([found.different, kindsOf(found)]).toEqual([1, [kind]])
  })

  it('users by their ids, wherever they are in the list', async () => {
    const one = {
      users: [
        { id: '1', name: 'a' },
        { id: '2', name: 'b' },
        { id: '3', name: 'c' },
      ],
    }
    const another = {
      users: [
        { id: '3', name: 'c' },
        { id: '1', name: 'x' },
        { id: '4', name: 'd' },
      ],
    }
    expect(kindsOf(await bodies('GET /users', one, another)).toSorted()).toEqual([
      '$.users[*] added',
      '$.users[*] missing',
      '$.users[*].name value',
    ])
    // The users of a page have an order.
    const reversed = { users: one.users.toReversed() }
    expect(kindsOf(await bodies('GET /users?limit=3', one, reversed))).toEqual(['$.users order'])
  })

  it('long bodies, which a thread compares', async () => {
    const users = (phone: string) => ({
      users: Array.from({ length: 3_000 }, (_, index) => ({ id: String(index), name: 'a'.repeat(20), phone })),
    })
    const found = await bodies('GET /users\nGET /users', users('1'), users('2'))
    expect(found.differences).toMatchObject([
      { path: '$.users[*].phone', kind: 'value', responses: 2, values: 6_000, example: { old: '"9"', new: '"9"' } },
    ])
    const compressed = { headers: { 'content-encoding': 'gzip' }, body: gzipSync(randomBytes(10_000).toString('hex')) }
    expect((await compare('GET /users', compressed, { body: users('1') })).differences).toMatchObject([
      { kind: 'format' },
    ])
  })

  it('the status, and nothing else of an error', async () => {
    const found = await compare('GET /users/1', { body: { id: '1' } }, { status: 404, body: { title: 'Not Found' } })
    expect(found.differences).toMatchObject([
      { route: 'GET /users/{id}', path: 'status', kind: 'status', example: { old: '200', new: '404' } },
    ])
    expect(kindsOf(await compare('GET /users/1', { body: {} }, { status: 201, body: { a: 1 } }))).toEqual([
      'status status',
      '$.a added',
    ])
  })

  it('the headers that clients read', async () => {
    const headers = {
      location: '/users/1',
      'retry-after': '1',
      etag: '"1"',
      link: '<http://old/users?cursor=a>; rel="next"',
    }
    const found = await compare(
      'GET /users?limit=1',
      { headers },
      {
        headers: {
          location: '/users/2',
          'content-type': 'text/plain',
          link: '<http://new/users?cursor=b>; rel="next"',
        },
      },
    )
    expect(kindsOf(found).toSorted()).toEqual([
      'headers.content-type header',
      'headers.etag header',
      'headers.location header',
      'headers.retry-after header',
    ])
  })

  it('a service that gives no response', async () => {
    const gone = await startOldService()
    await gone.close()
    responses = { old: { body: {} }, new: {} }
    const file = path.join(folder, 'requests')
    writeFileSync(file, 'GET /users/1')
    const sides = (one: string, another: string) =>
      runHere(['shadow', '--old', one, '--new', another, '--requests', file, '--json', '--fail-on', '1'], {})
    const { stdout, code } = await sides(old.url, gone.url)
    expect(code).toBe(1)
    expect(JSON.parse(stdout).differences).toMatchObject([
      { kind: 'failure', example: { old: '200', new: '"ECONNREFUSED"' } },
    ])
    // If nothing could be compared, nothing is proved.
    const nothing = await sides(gone.url, old.url)
    expect(nothing.code).toBe(1)
    expect(JSON.parse(nothing.stdout)).toMatchObject({
      compared: 0,
      notCompared: { 'the old service failed: ECONNREFUSED': 1 },
    })
  })
})

describe('the report', () => {
  it('groups by route, path and kind, and counts responses and values', async () => {
    const users = (phone: unknown) => ({ users: ['1', '2', '3'].map((id) => ({ id, phone })) })
    const found = await bodies('GET /users\nGET /users\n', users('1'), users(null))
    expect(found.differences).toMatchObject([
      { route: 'GET /users', path: '$.users[*].phone', kind: 'value', responses: 2, values: 6 },
    ])
  })

  it('masks values, unless --show-values is given', async () => {
    const request = 'GET /users/usr_1?email=ada@example.com'
    const name = { name: 'Ada Lovelace', phone: '+44 20 7946' }
    const other = { name: 'Ada King', phone: 44 }
    const masked = await bodies(request, name, other)
    expect(masked.differences.map(({ example }) => example)).toEqual([
      { request: 'GET /users/usr_1?email=aaa@aaaaaaa.aaa', old: '"Aaa Aaaaaaaa"', new: '"Aaa Aaaa"' },
      { request: 'GET /users/usr_1?email=aaa@aaaaaaa.aaa', old: '"+99 99 9999"', new: '"99"' },
    ])
    const shown = await bodies(request, name, other, '--show-values')
    expect(shown.differences.map(({ example }) => example)).toEqual([
      { request, old: '"Ada Lovelace"', new: '"Ada King"' },
      { request, old: '"+44 20 7946"', new: '44' },
    ])
  })

  it.each([
    ['$.users[*].phone'],
    ['users[].phone'],
    ['users.phone'],
    ['users.*.phone'],
    ['$.users[0].phone'],
    ["$['users'][*]['phone']"],
    ['**.phone'],
    ['users'],
  ])('leaves out what --ignore names: %s', async (ignored) => {
    const users = (phone: string, name: string) => ({ users: [{ id: '1', phone: { value: phone }, name }] })
    const found = await bodies('GET /users', users('1', 'a'), users('2', 'b'), '--ignore', ignored, 'headers.etag')
    expect(kindsOf(found)).toEqual(ignored === 'users' ? [] : ['$.users[*].name value'])
  })

  it('has a bounded number of groups, and counts what has none', async () => {
    const many = (value: number) =>
      Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`k${index}`, value]))
    const found = await bodies('GET /users/1\nGET /users/1', many(1), many(2))
    expect(found.differences).toHaveLength(1_000)
    expect(found).toMatchObject({ different: 2, otherDifferences: 1_000 })
  })

  it('says what it cannot compare', async () => {
    const skipped = async (given: Response) => (await compare('GET /users', given, { body: {} })).notCompared
    expect(await skipped({ status: 304 })).toEqual({ 'responses 304 Not Modified': 1 })
    expect(await skipped({ headers: { 'content-type': 'text/event-stream' } })).toEqual({ 'event streams': 1 })
    expect(await skipped({ headers: { 'content-encoding': 'zip' }, body: 1 })).toEqual({
      'an unknown content-encoding': 1,
    })
    expect(await skipped({ headers: { 'content-encoding': 'gzip' }, body: Buffer.from('no') })).toEqual({
      'a body that cannot be decompressed': 1,
    })
    const deep = (inner: string) => Buffer.from(`${'['.repeat(200)}${inner}${']'.repeat(200)}`)
    expect((await bodies('GET /users/1', deep('1'), deep('2'))).notCompared).toEqual({
      'JSON that is nested too deeply': 1,
    })
  })

  it('is a table without --json, and --fail-on decides the exit code', async () => {
    responses = { old: { body: { a: 1 } }, new: { body: { a: 2 } } }
    const file = path.join(folder, 'requests')
    writeFileSync(file, 'GET /fusion/jobs/1\nGET /fusion/jobs/2\nDELETE /users/1\n')
    const run = (...options: string[]) =>
      runHere(['shadow', '--old', old.url, '--new', other.url, '--requests', file, ...options], {})
    const { code, stdout, stderr } = await run()
    expect(code).toBe(0)
    expect(stdout).toBe('GET /fusion/jobs/{id}\t$.a\tvalue\t2\t2\t"9"\t"9"\tGET /fusion/jobs/1\n')
    expect(stderr).toContain('3 requests, 2 compared: 0 equal, 2 different.\nNot compared: 1 writes.\n')
    expect((await run('--fail-on', '3')).code).toBe(0)
    expect((await run('--fail-on', '2')).code).toBe(1)
  })
})
