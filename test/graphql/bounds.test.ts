import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant
let port: number

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  port = Number(new URL(await app.app.listen({ port: 0, host: '127.0.0.1' })).port)
})
afterAll(() => app.close())

const repeat = (count: number, text: string) => Array.from({ length: count }, () => text).join(' ')

/** Documents of exactly so many of something. */
const documents: Record<
  string,
  { readonly most: number; readonly of: (count: number) => string; readonly message: RegExp }
> = {
  'fields within each other': {
    most: 12,
    // users, nodes, and then in turn accounts and user.
    of: (count) => {
      const inner = Array.from({ length: count - 3 }, (_, at) => (at % 2 ? 'user {' : 'accounts {'))
      return `{ users(first: 1) { nodes { ${inner.join(' ')} id ${'}'.repeat(count - 3)} } } }`
    },
    message: /nested more than 12 fields deep/,
  },
  tokens: {
    most: 2_000,
    // Twelve, and two for each time that the fragment is used.
    of: (count) =>
      `{ viewer { ${repeat(Math.floor((count - 12) / 2), '...A')} ${count % 2 ? 'keyName' : ''} } } fragment A on Viewer { keyName }`,
    message: /More than 2000 tokens/,
  },
  characters: {
    most: 100_000,
    of: (count) => `{viewer{keyName}}`.padEnd(count, ' '),
    message: /More than 100000 characters/,
  },
  'fields with fragments in their places': {
    most: 5_000,
    // 10 × 10 × 49 leaves, with 10 × 10 and 10 above them; and as many more as are missing.
    of: (count) =>
      `{ viewer { ${repeat(10, '...A')} ${repeat(count - 5_000 + 99, 'keyName')} } }
       fragment A on Viewer { ${repeat(10, '...B')} } fragment B on Viewer { ${repeat(49, 'keyName')} }`,
    message: /more than 5000 fields/,
  },
}

describe('at the most it runs, and at one more it is refused before anything is sent', () => {
  const ask = (query: string) =>
    app.app.inject({ method: 'POST', url: '/graphql', headers: { 'x-api-key': tenant.key }, payload: { query } })

  it.each(Object.entries(documents))('%s', async (_, { most, of, message }) => {
    expect((await ask(of(most))).json().errors).toBeUndefined()
    const statements = await app.statementsOf(async () => {
      const refused = await ask(of(most + 1))
      expect(refused.json().errors[0]).toMatchObject({ message: expect.stringMatching(message) })
      expect(refused.json().data).toBeUndefined()
    })
    expect(statements).toEqual([])
  })

  /** Sends bytes as they are, and reads until the gateway closes. */
  async function send(head: readonly string[], body = ''): Promise<string> {
    const socket = connect(port, '127.0.0.1')
    // A refusal may come while the body is still on its way.
    socket.on('error', () => undefined)
    const answer = text(socket)
    socket.write([...head, `x-api-key: ${tenant.key}`, 'host: x', 'connection: close', '', body].join('\r\n'))
    return answer
  }

  const maxBody = 1_048_576
  const bodyOf = (bytes: number) => `{"query":"{viewer{keyName}}"}`.padEnd(bytes, ' ')

  it.each([
    [
      'by its length',
      (bytes: number) =>
        send(['POST /graphql HTTP/1.1', 'content-type: application/json', `content-length: ${bytes}`], bodyOf(bytes)),
    ],
    [
      'by what arrives',
      (bytes: number) =>
        send(
          ['POST /graphql HTTP/1.1', 'content-type: application/json', 'transfer-encoding: chunked'],
          `${bytes.toString(16)}\r\n${bodyOf(bytes)}\r\n0\r\n\r\n`,
        ),
    ],
  ] as const)('a body of 1 MiB, %s', async (_, sendBody) => {
    expect(await sendBody(maxBody)).toMatch(/^HTTP\/1.1 200 /)
    const statements = await app.statementsOf(async () => {
      expect(await sendBody(maxBody + 1)).toMatch(/^HTTP\/1.1 413 .*PAYLOAD_TOO_LARGE/s)
    })
    expect(statements).toEqual([])
  })

  it.each([
    ['a URL', (bytes: number) => send([`GET /users/${'x'.repeat(bytes)} HTTP/1.1`]), 404],
    ['headers', (bytes: number) => send(['GET /users/nobody HTTP/1.1', `x-padding: ${'x'.repeat(bytes)}`]), 404],
  ] as const)('%s of 16 KiB', async (_, sendHead, status) => {
    // The most that passes is found, since what else is in the head counts as well.
    let [passes, fails] = [15_000, 17_000]
    while (fails - passes > 1) {
      const middle = Math.floor((passes + fails) / 2)
      if ((await sendHead(middle)).startsWith('HTTP/1.1 431 ')) fails = middle
      else passes = middle
    }
    expect(await sendHead(passes)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(passes).toBeGreaterThan(16_384 - 250)
    expect(fails).toBeLessThanOrEqual(16_384)
  })
})
