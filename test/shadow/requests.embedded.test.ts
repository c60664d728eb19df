import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runHere } from '../support/cli.ts'
import { always, type OldService, send, startOldService } from '../support/old-service.ts'

let folder: string
let old: OldService
let other: OldService
let busy: number[]

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-requests-'))
  old = await startOldService({ instead: always({}) })
  other = await startOldService({
    instead(_, response) {
      const status = busy.shift() ?? 200
      send(response, status, {}, status === 429 ? { 'retry-after': '0' } : {})
      return true
    },
  })
})
afterAll(async () => {
  await old.close()
  await other.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  old.requests.length = other.requests.length = 0
  busy = []
})

/** Replays a file, and returns what both services have received. */
async function replay(content: string, options: readonly string[] = [], env: Record<string, string> = {}) {
  const file = path.join(folder, 'requests')
  writeFileSync(file, content)
  const services = ['--old', `${old.url}/base/`, '--new', other.url]
  const ended = await runHere(['shadow', ...services, '--requests', file, ...options], env)
  const shown = ({ requests }: OldService) =>
    requests.map(({ method, url, body }) => [method, url, body].filter(Boolean).join(' '))
  return { ...ended, old: shown(old), new: shown(other) }
}

describe('the requests of a file are', () => {
  it('lines with method, path, headers and body, or objects of JSON', async () => {
    const lines = [
      '# a comment',
      'GET /users',
      'GET /fusion/profiles {"X-Trace":"a } b"} ["acc_1","acc_2"]',
      'POST\t/fusion/profiles\t["acc_1"]',
      '{"method":"get","url":"https://old.example.com/users/usr_1?a=b"}',
      '{"method":"GET","path":"/fusion/jobs/job_1","headers":{"x-trace":"c"},"body":null}',
      '',
    ]
    const sent = await replay(lines.join('\r\n'))
    expect(sent.stderr).toContain('5 requests, 5 compared: 5 equal')
    const received = [
      'GET /users',
      'GET /fusion/profiles ["acc_1","acc_2"]',
      'POST /fusion/profiles ["acc_1"]',
      'GET /users/usr_1?a=b',
      'GET /fusion/jobs/job_1',
    ]
    // Several are sent at a time.
    expect(sent.new.toSorted()).toEqual(received.toSorted())
    expect(sent.old.toSorted()).toEqual(received.map((line) => line.replace(' /', ' /base/')).toSorted())
    const traces = other.requests.map(({ headers }) => headers['x-trace']).filter(Boolean)
    expect(traces.toSorted()).toEqual(['a } b', 'c'])
    expect(other.requests.find(({ body }) => body !== '')?.headers['content-type']).toBe('application/json')
  })

  it('those of a HAR file', async () => {
    const entry = (request: object) => ({ startedDateTime: '2026-01-01T00:00:00Z', request, response: { status: 200 } })
    const har = {
      log: {
        version: '1.2',
        entries: [
          entry({
            method: 'GET',
            url: 'https://old.example.com/users?a=b',
            headers: [{ name: ':method', value: 'GET' }],
          }),
          entry({
            method: 'POST',
            url: 'https://old.example.com/fusion/profiles',
            headers: [{ name: 'Content-Type', value: 'application/json' }],
            postData: { mimeType: 'application/json', text: '["acc_1"]' },
          }),
        ],
      },
    }
    const sent = await replay(JSON.stringify(har, null, 2))
    expect(sent.new.toSorted()).toEqual(['GET /users?a=b', 'POST /fusion/profiles ["acc_1"]'])
  })

  it.each([
    ['GET', 'requests:1: must have a path'],
    ['GET /users\nnonsense', 'requests:2: must have a path'],
    ['GET users', 'requests:1: path: must be a path'],
    ['{"method":"GET"}', 'requests:1: must have a path'],
    ['{"method":', 'requests:1: '],
    ['GET /users {"a b":"c"}', 'requests:1: headers.a b: '],
    ['{"log":{}}', 'requests is not a HAR file: it has no list log.entries.'],
    ['{"log":{"entries":[{}]}}', 'requests: entry 0: request: '],
  ])('refused with their place if they are none: %s', async (content, message) => {
    const { code, stderr } = await replay(content)
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })

  it('refused if there is no file, or nothing says what to compare', async () => {
    const services = ['shadow', '--old', old.url, '--new', other.url]
    const missing = await runHere([...services, '--requests', path.join(folder, 'none')], {})
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('none does not exist.\n') })
    expect(await runHere(services, {})).toMatchObject({ code: 2, stderr: expect.stringContaining('--requests <file>') })
    const both = await runHere([...services, '--requests', 'a', '--port', '0'], {})
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be used with') })
  })
})

describe('a replay', () => {
  const writes = 'POST /users {} {"name":"a"}\nGET /users\nPUT /users/1 {} {"name":"b"}\nDELETE /users/1\n'

  it('sends writes to neither service', async () => {
    const sent = await replay(writes)
    expect([sent.old, sent.new]).toEqual([['GET /base/users'], ['GET /users']])
    expect(sent.stderr).toContain('Not compared: 3 writes.')
  })

  it('sends writes to both services with --writes, one after the other', async () => {
    const sent = await replay(writes, ['--writes'])
    expect(sent.new).toEqual(['POST /users {"name":"a"}', 'GET /users', 'PUT /users/1 {"name":"b"}', 'DELETE /users/1'])
    expect(sent.old).toHaveLength(4)
  })

  it('reads by queries of GraphQL, and writes by mutations', async () => {
    const body = (query: string) => `POST /graphql {} ${JSON.stringify({ query })}\n`
    const [query, mutation] = [
      'query A { users { nodes { id } } }',
      'mutation B { deleteUser(input: { id: "1" }) { deletedUserId } }',
    ]
    const sent = await replay(
      `${body(query)}${body(mutation)}${body(`${query} ${mutation}`)}POST /graphql {} {"id":"1"}\n`,
    )
    expect(sent.new).toEqual([`POST /graphql ${JSON.stringify({ query })}`])
    expect(sent.stderr).toContain('Not compared: 3 writes.')
  })

  it('waits where a service has no room, as Retry-After says', async () => {
    busy = [429, 429]
    const sent = await replay('GET /users')
    expect(sent.stderr).toContain('1 equal')
    expect(sent.new).toHaveLength(3)
    busy = [429, 429, 429, 429]
    expect((await replay('GET /users')).stdout).toContain('status\tstatus\t1\t1\t200\t429')
  })

  it('sends neither conditions nor the headers of a connection', async () => {
    await replay(
      'GET /users {"If-None-Match":"\\"1\\"","Range":"bytes=0-1","Connection":"close, x-hop","X-Hop":"1","Host":"a"}',
    )
    for (const { requests } of [old, other]) {
      const headers = requests[0]?.headers
      expect(Object.keys(headers ?? {})).toEqual(['host'])
      expect(headers?.host).toMatch(/^127\.0\.0\.1:/)
    }
  })
})

describe('credentials', () => {
  const keysOf = ({ requests }: OldService) =>
    requests.map(({ headers }) => headers['x-api-key'] ?? headers.authorization)
  const line = 'GET /users {"X-Api-Key":"of-client","accept":"application/json"}'

  it('are passed on', async () => {
    await replay(line)
    expect([...keysOf(old), ...keysOf(other)]).toEqual(['of-client', 'of-client'])
  })

  it('are replaced by those of options, or of variables, and are in no output', async () => {
    const given = await replay(line, ['--old-key', 'secret-1', '--new-key', 'aaa.bbb.ccc'])
    expect([...keysOf(old), ...keysOf(other)]).toEqual(['secret-1', 'Bearer aaa.bbb.ccc'])
    expect(other.requests[0]?.headers).not.toHaveProperty('x-api-key')
    old.requests.length = other.requests.length = 0
    const read = await replay(line, ['--json'], { OLD_API_KEY: 'secret-3', FUSION_API_KEY: 'secret-4' })
    expect([...keysOf(old), ...keysOf(other)]).toEqual(['secret-3', 'secret-4'])
    expect(JSON.stringify([given, read])).not.toMatch(/secret|of-client|aaa\.bbb/)
  })
})
