import { hash } from 'node:crypto'
import { apolloMultipart } from '@fusion-gateway/gateway-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { openSocket } from '../support/web-socket.ts'

let app: TestApp
let tenant: TestTenant
let address: string

beforeAll(async () => {
  app = await startTestApp({ batching: true })
  tenant = await app.createTenant()
  address = await addressOf(app)
})
afterAll(() => app.close())

/** What a client says with an operation, besides the operation. */
interface Said {
  readonly query: string
  readonly variables?: object
  readonly key?: string
  readonly requestId: string
}

type Send = (said: Said) => Promise<string>

const headersOf = ({ requestId }: Said) => ({
  'x-api-key': tenant.key,
  'x-request-id': requestId,
  'graphql-client-name': 'table',
})

const withHeader = (said: Said) => ({ ...headersOf(said), ...(said.key && { 'idempotency-key': said.key }) })
const bodyOf = ({ query, variables }: Said, extensions?: object) => ({ query, variables, extensions })
const withExtension = (said: Said) => bodyOf(said, { idempotencyKey: said.key })

async function post(payload: object, headers: Record<string, string>, url = '/graphql'): Promise<string> {
  return (await app.app.inject({ method: 'POST', url, payload, headers })).body
}

const addressIn = ({ variables }: Said) => ({ name: 'Ada', phone: '1', ...variables })

/** Each transport, and each place where it has the key of a mutation. */
const transports: Record<string, Send> = {
  'a POST, with the key in its header': (said) => post(bodyOf(said), withHeader(said)),
  'a POST, with the key in its extensions': (said) => post(withExtension(said), headersOf(said)),
  'a POST, with the key in both': (said) => post(withExtension(said), withHeader(said)),
  'a POST for server-sent events, with the key in its header': (said) =>
    post(bodyOf(said), { ...withHeader(said), accept: 'text/event-stream' }),
  'a POST for server-sent events, with the key in its extensions': (said) =>
    post(withExtension(said), { ...headersOf(said), accept: 'text/event-stream' }),
  "a POST in Apollo's protocol, with the key in its header": (said) =>
    post(bodyOf(said), { ...withHeader(said), accept: apolloMultipart }),
  "a POST in Apollo's protocol, with the key in its extensions": (said) =>
    post(withExtension(said), { ...headersOf(said), accept: apolloMultipart }),
  'a batch, with the key in the extensions': (said) => post([withExtension(said)], headersOf(said)),
  async 'a WebSocket, with the key in the extensions'(said) {
    const { 'x-request-id': requestId, ...payload } = headersOf(said)
    const { socket, send, next } = await openSocket(address, { headers: { 'x-request-id': requestId } })
    send({ type: 'connection_init', payload })
    await next()
    send({ type: 'subscribe', id: '1', payload: withExtension(said) })
    const message = await next()
    socket.close()
    return JSON.stringify(message)
  },
  'REST, with the key in the header': (said) => post(addressIn(said), withHeader(said), '/users'),
  'MCP, with the key in the header': (said) => {
    const params = { name: 'create_user', arguments: addressIn(said) }
    const accept = 'application/json, text/event-stream'
    return post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, { ...withHeader(said), accept }, '/mcp')
  },
}

const mutation = `mutation Create($email: String!) {
  createUser(input: { name: "Ada", email: $email, phone: "1" }) { user { id } } }`

const clientsOf = () =>
  app.services.usageCounts
    .take()
    .flatMap(({ operations }) => [...operations.values()].map((one) => one.names.clientName))

describe.each(Object.entries(transports))('a mutation by %s', (name, send) => {
  it('runs once, and notes its client, its key and its request', async () => {
    const requestId = hash('sha256', name)
    const email = `${requestId.slice(0, 8)}@example.com`
    const said = { query: mutation, variables: { email }, key: requestId, requestId }
    const idIn = (text: string) => /usr_[\w-]+/.exec(text)?.[0]
    clientsOf()
    const id = idIn(await send(said))
    expect(id).toBeDefined()
    expect(idIn(await send(said))).toBe(id)
    expect(await app.database.prisma.user.count({ where: { email } })).toBe(1)
    expect(new Set(clientsOf())).toEqual(new Set(['table']))
    const events = await app.database.prisma.event.findMany({ where: { resourceId: String(id) } })
    expect(events).toMatchObject([{ keyId: tenant.keyId, requestId: expect.stringMatching(`^${requestId}([.]1)?$`) }])
  })
})

describe('a query by GET', () => {
  it('notes its client and its request, and has no key: a mutation is refused', async () => {
    clientsOf()
    const said = { query: '{ users(first: 1) { nodes { id } } }', requestId: 'by-get' }
    const response = await app.app.inject({ url: '/graphql', query: { query: said.query }, headers: headersOf(said) })
    expect(response.headers['x-request-id']).toBe('by-get')
    expect(clientsOf()).toEqual(['table'])
    const extensions = JSON.stringify({ idempotencyKey: 'one' })
    const refused = await app.app.inject({
      url: '/graphql',
      query: { query: mutation, extensions },
      headers: headersOf(said),
    })
    expect(refused.statusCode).toBe(405)
  })
})

describe('an idempotency key in the extensions of a POST', () => {
  const said: Said = { query: 'mutation { cancelJob(input: { id: "x" }) { job { id } } }', requestId: 'refused' }

  it.each([
    ['is refused if it is not one', 'ä', {}],
    ['is refused if the header has another', 'one', { 'idempotency-key': 'other' }],
  ])('%s', async (_, idempotencyKey, header) => {
    const body = await post(bodyOf(said, { idempotencyKey }), { ...headersOf(said), ...header })
    expect(JSON.parse(body)).toMatchObject({ errors: [{ extensions: { code: 'MALFORMED_REQUEST' } }] })
  })
})
