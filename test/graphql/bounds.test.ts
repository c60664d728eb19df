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

/** Documents with an exact count of something that has a limit. */
const documents: Record<
  string,
  { readonly limit: number; readonly document: (count: number) => string; readonly message: RegExp }
> = {
  'nested fields': {
    limit: 12,
    // users and nodes, then accounts and user in turn.
    document: (count) => {
      const inner = Array.from({ length: count - 3 }, (_, at) => (at % 2 ? 'user {' : 'accounts {'))
      return `{ users(first: 1) { nodes { ${inner.join(' ')} id ${'}'.repeat(count - 3)} } } }`
    },
    message: /nested more than 12 fields deep/,
  },
  tokens: {
    limit: 2_000,
    // 12 tokens, and 2 for each use of the fragment.
    document: (count) =>
      `{ viewer { ${repeat(Math.floor((count - 12) / 2), '...A')} ${count % 2 ? 'keyName' : ''} } } fragment A on Viewer { keyName }`,
    message: /More than 2000 tokens/,
  },
  characters: {
    limit: 100_000,
    document: (count) => `{viewer{keyName}}`.padEnd(count, ' '),
    message: /More than 100000 characters/,
  },
  'fields of expanded fragments': {
    limit: 5_000,
    // viewer, 10 × 10 × 49 leaves through the fragments, and the remaining leaves.
    document: (count) =>
      `{ viewer { ${repeat(10, '...A')} ${repeat(count - 5_000 + 99, 'keyName')} } }
       fragment A on Viewer { ${repeat(10, '...B')} } fragment B on Viewer { ${repeat(49, 'keyName')} }`,
    message: /more than 5000 fields/,
  },
  'fragments of expanded fragments': {
    limit: 5_000,
    // Each use of the fragment counts itself and 49 within it, around one field.
    document: (count) =>
      `{ viewer { ${repeat(100, '...A')} ${repeat(count - 5_000, '... { keyName }')} } }
       fragment A on Viewer { ${repeat(49, '... {')} keyName ${repeat(49, '}')} }`,
    message: /more than 5000 fragments/,
  },
}

describe('a limit', () => {
  const post = (query: string) =>
    app.app.inject({ method: 'POST', url: '/graphql', headers: { 'x-api-key': tenant.key }, payload: { query } })

  it.each(Object.entries(documents))(
    'accepts the largest document and rejects a larger one without a statement: %s',
    async (_, { limit, document, message }) => {
      expect((await post(document(limit))).json().errors).toBeUndefined()
      const statements = await app.statementsOf(async () => {
        const rejected = await post(document(limit + 1))
        expect(rejected.json().errors[0]).toMatchObject({ message: expect.stringMatching(message) })
        expect(rejected.json().data).toBeUndefined()
      })
      expect(statements).toEqual([])
    },
  )

  /** Sends raw bytes, and reads until the gateway closes the connection. */
  async function send(head: readonly string[], body = ''): Promise<string> {
    const socket = connect(port, '127.0.0.1')
    // The gateway may reject the request before it has received the whole body.
    socket.on('error', () => undefined)
    const response = text(socket)
    socket.write([...head, `x-api-key: ${tenant.key}`, 'host: x', 'connection: close', '', body].join('\r\n'))
    return response
  }

  const maxBody = 1_048_576
  const bodyOf = (bytes: number) => `{"query":"{viewer{keyName}}"}`.padEnd(bytes, ' ')

  it.each([
    [
      'with Content-Length',
      (bytes: number) =>
        send(['POST /graphql HTTP/1.1', 'content-type: application/json', `content-length: ${bytes}`], bodyOf(bytes)),
    ],
    [
      'in chunks',
      (bytes: number) =>
        send(
          ['POST /graphql HTTP/1.1', 'content-type: application/json', 'transfer-encoding: chunked'],
          `${bytes.toString(16)}\r\n${bodyOf(bytes)}\r\n0\r\n\r\n`,
        ),
    ],
  ] as const)('accepts a body of 1 MiB and rejects a larger one without a statement: %s', async (_, sendBody) => {
    expect(await sendBody(maxBody)).toMatch(/^HTTP\/1.1 200 /)
    const statements = await app.statementsOf(async () => {
      expect(await sendBody(maxBody + 1)).toMatch(/^HTTP\/1.1 413 .*PAYLOAD_TOO_LARGE/s)
    })
    expect(statements).toEqual([])
  })

  it.each([
    ['URL', (bytes: number) => send([`GET /users/${'x'.repeat(bytes)} HTTP/1.1`]), 404],
    ['headers', (bytes: number) => send(['GET /users/nobody HTTP/1.1', `x-padding: ${'x'.repeat(bytes)}`]), 404],
  ] as const)(
    'accepts almost 16 KiB and rejects more than 16 KiB of a request head: %s',
    async (_, sendHead, status) => {
      // The rest of the head counts too.
      expect(await sendHead(16_384 - 250)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
      expect(await sendHead(16_384)).toMatch(/^HTTP\/1.1 431 /)
    },
  )
})
