import { createAction, deletedBy, failureOf, RequestError, TokenError } from '@fusion-gateway/client'
import { createSend } from '@fusion-gateway/client/fetch'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { mutationHeaders } from '../src/action.ts'
import { type ClientOptions, createCore } from '../src/core.ts'
import { createdBy } from '../src/created.ts'
import { rowsAfter } from '../src/library.ts'
import { createPages } from '../src/pages.ts'

const url = 'https://gateway.example.com/graphql'

/** What the network does with a request: answers, or has no response. */
type Step = (request: Request) => Response | Promise<Response>

const answer: Step = () => Response.json({ data: { viewer: null } })
const isDown: Step = () => {
  throw new TypeError('fetch failed')
}
const refuse =
  (status: number, retryAfter?: string): Step =>
  () =>
    new Response('{}', { status, ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }) })

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Creates a core for which the network does these steps, and the last one ever after. */
function createScripted(steps: readonly Step[], options: Partial<ClientOptions> = {}) {
  const requests: Request[] = []
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input as string, init)
    requests.push(request)
    return (steps[requests.length - 1] ?? steps.at(-1) ?? answer)(request)
  })
  const waits: [number | undefined, string][] = []
  const core = createCore({
    url,
    onWait: (until, reason) => void waits.push([until && until.getTime() - Date.now(), reason]),
    ...options,
  })
  onTestFinished(() => core.close())
  const query = (init: RequestInit = {}) => core.fetch(url, { method: 'POST', body: '{}', ...init })
  return { core, requests, waits, query, mutate: () => query({ headers: mutationHeaders() }) }
}

/** Lets waiting requests go on until a promise is settled. */
async function settle<Value>(promise: Promise<Value>): Promise<Value> {
  let isSettled = false
  promise.then(
    () => (isSettled = true),
    () => (isSettled = true),
  )
  while (!isSettled) await vi.advanceTimersByTimeAsync(1_000)
  return promise
}

describe('a request', () => {
  it('has the credential and the name of the client', async () => {
    const { query, requests } = createScripted([answer], {
      token: async () => 'one',
      clientName: 'app',
      clientVersion: '2',
    })
    await query({ headers: { accept: 'application/json' } })
    expect(Object.fromEntries(requests[0]?.headers ?? [])).toMatchObject({
      accept: 'application/json',
      authorization: 'Bearer one',
      'graphql-client-name': 'app',
      'graphql-client-version': '2',
    })
    const server = createScripted([answer], { apiKey: 'secret' })
    await server.query()
    expect(server.requests[0]?.headers.get('x-api-key')).toBe('secret')
  })

  it('is sent as often as needed if it is given as a Request', async () => {
    const { core, requests } = createScripted([refuse(502), answer], { token: async () => 'one' })
    const headers = { 'idempotency-key': 'mine' }
    const sent = core.fetch(new Request(url, { method: 'POST', body: '{"query":""}', headers }))
    expect((await settle(sent)).status).toBe(200)
    for (const request of requests) {
      expect([request.method, await request.text()]).toEqual(['POST', '{"query":""}'])
      expect([request.headers.get('idempotency-key'), request.headers.get('authorization')]).toEqual([
        'mine',
        'Bearer one',
      ])
    }
    expect(requests).toHaveLength(2)
  })

  it('whose token is rejected is sent once more, with a token that is renewed once for all', async () => {
    let current = 0
    const token = vi.fn(async (rejected?: string) => {
      if (rejected === `token ${current}`) current += 1
      return `token ${current}`
    })
    const accepts: Step = ({ headers }) =>
      headers.get('authorization') === 'Bearer token 0' ? new Response('{}', { status: 401 }) : Response.json({})
    const { query, requests } = createScripted([accepts], { token })
    const responses = await Promise.all([query(), query(), query()])
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
    expect([requests.length, current]).toEqual([6, 1])
  })

  it('is not sent for ever if every token is rejected', async () => {
    const token = vi.fn(async () => `token ${token.mock.calls.length}`)
    const { query, requests } = createScripted([refuse(401)], { token })
    expect((await query()).status).toBe(401)
    expect(requests).toHaveLength(2)
    const same = createScripted([refuse(401)], { token: async () => 'same' })
    expect((await same.query()).status).toBe(401)
    expect(same.requests).toHaveLength(1)
  })

  it('fails when the session has ended, which the page learns once', async () => {
    const onSignedOut = vi.fn()
    const token = async () => Promise.reject(new TokenError(401, 'Sign in first.'))
    const { query, requests } = createScripted([answer], { token, onSignedOut })
    for (const result of await Promise.allSettled([query(), query()])) {
      expect(result).toMatchObject({ reason: { message: 'Sign in first.', isSignedOut: true } })
    }
    expect([onSignedOut.mock.calls.length, requests.length]).toEqual([1, 0])
  })
})

describe('a query without a response', () => {
  it.each([
    ['the network is down', isDown, 'offline'],
    ['a proxy has no gateway', refuse(502), 'unavailable'],
  ] as const)('is sent until the gateway is back: %s', async (_, step, reason) => {
    const { query, requests, waits } = createScripted([...Array(20).fill(step), answer], {
      attempts: Number.POSITIVE_INFINITY,
    })
    expect((await settle(query())).status).toBe(200)
    expect(requests).toHaveLength(21)
    const [first, second] = waits
    expect(first).toEqual([expect.closeTo(750, -3), reason])
    // The page hides what it shows.
    expect(second).toEqual([undefined, reason])
    const longest = Math.max(...waits.map(([milliseconds = 0]) => milliseconds))
    expect(longest).toBeGreaterThan(15_000)
    expect(longest).toBeLessThanOrEqual(30_000)
  })

  it('is sent four times by a server', async () => {
    const { query, requests } = createScripted([isDown])
    await expect(settle(query())).rejects.toThrow('fetch failed')
    expect(requests).toHaveLength(4)
  })

  it('is sent at once when the device is online again', async () => {
    const page = new EventTarget()
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
    onTestFinished(() => void vi.unstubAllGlobals())
    const { query, requests } = createScripted([isDown, answer])
    const sent = query()
    await vi.advanceTimersByTimeAsync(0)
    expect(requests).toHaveLength(1)
    page.dispatchEvent(new Event('online'))
    expect((await sent).status).toBe(200)
  })

  it('is sent at once when another request was answered', async () => {
    const { query, requests } = createScripted([isDown, isDown, answer])
    const waiting = [query(), query()]
    await vi.advanceTimersByTimeAsync(0)
    expect(requests).toHaveLength(2)
    await query()
    for (const sent of waiting) expect((await sent).status).toBe(200)
    expect(requests).toHaveLength(5)
  })

  it('is sent once more when another one is answered, and not with each response in a partial outage', async () => {
    const { query, requests } = createScripted(
      [async (request) => ((await request.text()) === 'down' ? new Response('', { status: 502 }) : Response.json({}))],
      { attempts: Number.POSITIVE_INFINITY },
    )
    for (let number = 0; number < 15; number += 1) void query({ body: 'down' }).catch(() => undefined)
    let answered = 0
    for (let waited = 0; waited < 50; waited += 1) {
      await vi.advanceTimersByTimeAsync(100)
      await query()
      answered += 1
    }
    // Each waits for 0.5 to 1 s, 1 to 2 s, and 2 to 4 s. One of these waits was ended.
    expect(requests.length - answered).toBeLessThanOrEqual(15 * 6)
  })

  it('is not sent again because of a response to a request from before it failed', async () => {
    const late = Promise.withResolvers<Response>()
    const { query, requests } = createScripted([() => late.promise, isDown, answer])
    const first = query()
    await vi.advanceTimersByTimeAsync(10)
    const second = query()
    await vi.advanceTimersByTimeAsync(10)
    late.resolve(Response.json({}))
    await first
    await vi.advanceTimersByTimeAsync(10)
    expect(requests).toHaveLength(2)
    await settle(second)
  })

  it('is given up with its signal, and with the client', async () => {
    const given = new AbortController()
    const { query, core } = createScripted([isDown])
    const [first, second] = [query({ signal: given.signal }), query()]
    await vi.advanceTimersByTimeAsync(0)
    given.abort(new Error('enough'))
    await expect(first).rejects.toThrow('enough')
    core.close()
    await expect(second).rejects.toThrow('closed')
  })

  it('is one whose response breaks off', async () => {
    const broken: Step = () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode('{"data":'))
            controller.error(new TypeError('terminated'))
          },
        }),
      )
    const { query, requests } = createScripted([broken, answer])
    expect(await (await settle(query())).json()).toEqual({ data: { viewer: null } })
    expect(requests).toHaveLength(2)
  })
})

describe('a mutation', () => {
  it('without a response is sent four times, with one key', async () => {
    const { mutate, requests } = createScripted([isDown], { attempts: Number.POSITIVE_INFINITY })
    await expect(settle(mutate())).rejects.toThrow('fetch failed')
    const keys = requests.map(({ headers }) => headers.get('idempotency-key'))
    expect([keys.length, new Set(keys).size]).toEqual([4, 1])
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
  })

  it('keeps its key also when it is limited, when its token is renewed, and while its first request runs', async () => {
    const token = vi.fn(async () => `token ${token.mock.calls.length}`)
    const { mutate, requests } = createScripted(
      [refuse(429, '1'), refuse(401), refuse(409, '1'), refuse(503), answer],
      { token },
    )
    expect((await settle(mutate())).status).toBe(200)
    const keys = requests.map(({ headers }) => headers.get('idempotency-key'))
    expect([keys.length, new Set(keys).size]).toEqual([5, 1])
  })
})

describe('Retry-After', () => {
  it.each([
    [429, 'limited'],
    [503, 'unavailable'],
  ])('of %i is awaited, and nothing ends it earlier', async (status, reason) => {
    const { query, requests, waits } = createScripted([refuse(status, '20'), answer])
    const limited = query()
    await vi.advanceTimersByTimeAsync(0)
    expect(waits).toEqual([[expect.closeTo(22_500, -4), reason]])
    await vi.advanceTimersByTimeAsync(19_900)
    expect(requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(5_200)
    expect((await limited).status).toBe(200)
    expect(waits.at(-1)).toEqual([undefined, reason])
  })

  it.each(['0', '-5', '0.001'])('of %s does not make a storm', async (seconds) => {
    for (const status of [429, 502, 503, 504]) {
      const { core, query, requests } = createScripted([refuse(status, seconds)], {
        attempts: Number.POSITIVE_INFINITY,
      })
      void query().catch(() => undefined)
      await vi.advanceTimersByTimeAsync(60_000)
      expect(requests.length).toBeLessThan(12)
      core.close()
    }
  })

  it('of more than two minutes, and the fourth in a row, are returned', async () => {
    const long = createScripted([refuse(429, '121')])
    expect((await long.query()).status).toBe(429)
    const { query, requests } = createScripted([refuse(429, '1')], { attempts: Number.POSITIVE_INFINITY })
    expect((await settle(query())).status).toBe(429)
    expect(requests).toHaveLength(4)
  })
})

describe('send', () => {
  const errorsOf = (code: string, path = ['users']) => [{ message: 'No.', path, extensions: { code } }]

  it('returns what the token may not read as withheld', async () => {
    createScripted([() => Response.json({ data: { users: null }, errors: errorsOf('FORBIDDEN') })])
    const { data, withheld, errors } = await createSend({ url })('{ users { nodes { id } } }')
    expect([data, errors.length]).toEqual([{ users: null }, 1])
    expect([withheld('users'), withheld('users.nodes.id'), withheld('jobs')]).toEqual([
      'FORBIDDEN',
      'FORBIDDEN',
      undefined,
    ])
  })

  it('throws if a field could not be read, so that nobody takes it for an empty value', async () => {
    createScripted([() => Response.json({ data: { users: null }, errors: errorsOf('SERVICE_UNAVAILABLE') })])
    const error = await createSend({ url })('{ users { nodes { id } } }').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RequestError)
    expect(error).toMatchObject({ message: 'No.', isTemporary: true, data: { users: null } })
  })

  it.each([
    [404, 'NOT_GRAPHQL'],
    [200, 'NOT_GRAPHQL'],
    [500, 'SERVICE_UNAVAILABLE'],
  ])('throws if a page with %i comes, and says from where', async (status, code) => {
    const headers = { 'content-type': 'text/html' }
    createScripted([() => new Response('<h1>Application</h1>', { status, headers })])
    const error = await createSend({ url })('{ users { nodes { id } } }').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ errors: [{ extensions: { code } }] })
    expect(error).toMatchObject({ message: expect.stringContaining(`${url} answered ${status} (text/html)`) })
  })

  it('sends ids of documents, and says what is missing', async () => {
    const { requests } = createScripted([answer])
    const compiled = Object.assign(new String('sha256:1') as string, { __meta__: { hash: 'sha256:1' } })
    const send = createSend({ url, documents: 'persisted' })
    await send(compiled, { id: 1 })
    expect(await requests[0]?.json()).toEqual({ documentId: 'sha256:1', variables: { id: 1 } })
    await expect(send('{ viewer { keyName } }')).rejects.toThrow('has no id')
    const parsed = { kind: 'Document' } as never
    await expect(createSend({ url })(parsed)).rejects.toThrow('print')
    await createSend({ url, print: () => '{ printed }' })(parsed)
    expect(await requests[1]?.json()).toMatchObject({ query: '{ printed }' })
  })

  it('asks for the position before which the data is read, and returns it', async () => {
    const { requests } = createScripted([() => Response.json({ data: {}, extensions: { position: 'here' } })])
    const { position } = await createSend({ url })('{ viewer { keyName } }', {}, { position: true })
    expect(position).toBe('here')
    expect(await requests[0]?.json()).toMatchObject({ extensions: { position: true } })
  })

  it('sends a key with every document that may write', async () => {
    const { requests } = createScripted([answer])
    const send = createSend({ url })
    for (const document of ['{ viewer { keyName } }', 'mutation { a }', 'fragment A on B { c } mutation { ...A }']) {
      await send(document)
    }
    const persisted = createSend({ url, documents: 'persisted' })
    const compiled = (text: string) => Object.assign(new String(text) as string, { __meta__: { hash: 'sha256:1' } })
    await persisted({ documentId: 'one' })
    for (const text of ['query A { a }', 'mutation B { b }']) await persisted(compiled(text))
    for (const operation of ['query', 'mutation'])
      await persisted({ documentId: 'two', definitions: [{ operation }] } as never)
    expect(requests.map(({ headers }) => headers.has('idempotency-key'))).toEqual(
      [false, true, true].concat([true, false, true, false, true]),
    )
  })
})

it('a subscription is an event stream where there is no WebSocket, as on Node 20', async () => {
  vi.stubGlobal('WebSocket', undefined)
  onTestFinished(() => void vi.unstubAllGlobals())
  const { core, requests } = createScripted([() => new Promise<Response>(() => {})])
  core.subscribe({ query: 'subscription { users { order } }' }, { next() {}, error() {}, complete() {} })
  await vi.waitFor(() => expect(requests[0]?.headers.get('accept')).toBe('text/event-stream'))
})

it('deletedBy names what mutations, bulk writes and events delete, one or several', () => {
  const user = { __typename: 'User', id: 'usr_1' }
  const [first, second] = ['acc_1', 'acc_2'].map((id) => ({ __typename: 'Account', id }))
  expect(deletedBy({ deleteUser: { deletedUserId: 'usr_1', userErrors: [] } })).toEqual([user])
  expect(
    deletedBy({ unlinkAccounts: { results: [{ unlinkedAccountId: 'acc_1' }, { unlinkedAccountId: null }] } }),
  ).toEqual([first])
  expect(deletedBy({ a: { unlinkedAccountId: ['acc_1', 'acc_2'] } })).toEqual([first, second])
  expect(deletedBy({ events: { type: 'USER_DELETED', resourceId: 'usr_1' } })).toEqual([user])
  expect(deletedBy({ events: { type: 'constructor', resourceId: 'usr_1' }, none: null })).toEqual([])
  expect(deletedBy(null)).toEqual([])
})

it('what was created is named by mutations, bulk writes and events, but not what was rejected', () => {
  const user = { __typename: 'User', id: 'usr_1', userId: undefined }
  expect(createdBy({ createUser: { user: { id: 'usr_1' } } })).toEqual([user])
  expect(createdBy({ alias: { __typename: 'CreateUserPayload', user: { id: 'usr_1' }, userErrors: [] } })).toEqual([
    user,
  ])
  expect(createdBy({ createUser: { userErrors: [] } })).toEqual([{ ...user, id: undefined }])
  const rejected = { user: null, userErrors: [{ code: 'REQUIRED' }] }
  expect(createdBy({ createUsers: { results: [{ user: { id: 'usr_1' } }, rejected] } })).toEqual([user])
  for (const none of [rejected, { userErrors: [{ code: 'REQUIRED' }] }, null])
    expect(createdBy({ createUser: none })).toEqual([])
  expect(createdBy({ linkAccount: { account: { id: 'acc_1', user: { id: 'usr_1' } } } })).toEqual([
    { __typename: 'Account', id: 'acc_1', userId: 'usr_1' },
  ])
  expect(createdBy({ events: { type: 'USER_CREATED', resourceId: 'usr_1', userId: null } })).toEqual([user])
  expect(createdBy({ events: { type: 'constructor' }, constructor: { a: 1 }, none: null })).toEqual([])
  expect(createdBy(null)).toEqual([])
})

it('a list keeps the rows behind its first page, unless a row before them is missing from the page', () => {
  const later = (known: string, page: string) => rowsAfter([...known], [...page], (row) => row).join('')
  expect(later('abcd', 'ab')).toBe('cd')
  expect(later('abcd', 'xab')).toBe('cd')
  expect(later('abcd', 'axb')).toBe('cd')
  expect(later('a', 'ab')).toBe('')
  // The first row has moved, the second one, and a later one to the front.
  expect([later('abcd', 'bc'), later('abcd', 'ac'), later('abcd', 'da')]).toEqual(['', '', ''])
})

it('a list that has grown is read to where it was shown, by each request that was sent before it was whole again', async () => {
  const query = 'query ($after: String) { users(first: 2, after: $after) { nodes { id } } }'
  let rows = 'abcde'
  const resultOf = (after = '') => {
    const nodes = [...rows].slice(rows.indexOf(after) + after.length).slice(0, 2)
    const endCursor = nodes.at(-1) ?? null
    return { data: { users: { nodes, pageInfo: { endCursor, hasNextPage: !rows.endsWith(String(endCursor)) } } } }
  }
  const pages = createPages(async ({ variables }) => resultOf(variables?.['after'] as string))
  const first = () => ({ query, variables: {} })
  const read = async (sentAt: number) => {
    const result = await pages.complete(first, resultOf(), sentAt)
    pages.read(first, result)
    return (result.data as { users: { nodes: string[] } }).users.nodes.join('')
  }
  pages.read(first, resultOf())
  pages.read(() => ({ query, variables: { after: 'b' } }), resultOf('b'))
  rows = 'abxcde'
  pages.outdate(1, ['accounts'])
  expect(await read(0)).toBe('ab')
  pages.read(() => ({ query, variables: { after: 'b' } }), resultOf('b'))
  pages.outdate(1, ['users'])
  const sentAt = performance.now()
  vi.advanceTimersByTime(1)
  expect([await read(sentAt), await read(sentAt)]).toEqual(['abxc', 'abxc'])
})

describe('an action', () => {
  const lost = new TypeError('fetch failed')
  const rejected = new RequestError([{ message: 'No.', extensions: { code: 'BAD_USER_INPUT' } }])
  const unknown = new RequestError([{ message: 'Later.', extensions: { code: 'SERVICE_UNAVAILABLE' } }])

  it('keeps its key until the gateway has answered', async () => {
    const run = createAction()
    const keys: string[] = []
    const click = (outcome: unknown) =>
      run(async (key) => {
        keys.push(key)
        if (outcome instanceof Error) throw outcome
        return outcome
      }).catch(() => undefined)
    // Apollo Client and urql return errors.
    for (const outcome of [
      lost,
      unknown,
      { error: lost },
      { error: { graphQLErrors: unknown.errors } },
      { data: {} },
    ]) {
      await click(outcome)
    }
    expect(new Set(keys).size).toBe(1)
    for (const outcome of [rejected, { error: rejected }, { data: {} }]) await click(outcome)
    expect(new Set(keys).size).toBe(4)
  })

  it('throws the error that Apollo Client and urql return, unless the mutation was executed', async () => {
    const run = createAction()
    const error = { graphQLErrors: rejected.errors }
    for (const result of [{ error }, { data: null, error }, { data: { createUser: null }, error }])
      await expect(run(async () => result)).rejects.toBe(error)
    // A field whose scope is missing.
    const partial = { data: { createUser: { user: { email: null } } }, error }
    expect(await run(async () => partial)).toBe(partial)
    for (const none of [undefined, null]) expect(await run(async () => ({ error: none }))).toEqual({ error: none })
  })

  it.each<[string, unknown, string, boolean, RegExp]>([
    ['that got no response', lost, 'NO_RESPONSE', true, /^Not saved, or not known: try again\./],
    ['that got no response, with urql', { networkError: lost }, 'NO_RESPONSE', true, /not known: try again/],
    ['that may still run', unknown, 'SERVICE_UNAVAILABLE', true, /not known: try again/],
    ['with urql', { graphQLErrors: unknown.errors }, 'SERVICE_UNAVAILABLE', true, /not known: try again/],
    ['that was rejected', rejected, 'BAD_USER_INPUT', false, /^Not saved \(BAD_USER_INPUT\)\.$/],
    [
      'that has no token for now',
      new TokenError(503, '', 'GATEWAY_UNREACHABLE'),
      'GATEWAY_UNREACHABLE',
      false,
      /^Not saved: try again\.$/,
    ],
    ['of a person who is signed out', { networkError: new TokenError(401, '') }, 'SIGNED_OUT', false, /sign in/],
    [
      'that may not be done',
      { errors: [{ message: '', extensions: { code: 'FORBIDDEN' } }] },
      'FORBIDDEN',
      false,
      /may not/,
    ],
    ['of code that is wrong', new Error('x'), 'INTERNAL', true, /not known/],
  ])('a form says of a mutation %s what the person can do, and the code', (_, error, code, isUnknown, message) => {
    expect(failureOf(error)).toEqual({ code, isUnknown, message: expect.stringMatching(message) })
  })

  it('keeps its key when an earlier one is answered meanwhile', async () => {
    const run = createAction()
    const keys: string[] = []
    const [slow, fast] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const click = (answered: Promise<void>) =>
      run(async (key) => {
        keys.push(key)
        await answered
      }).catch(() => undefined)
    const clicks = [click(slow.promise), click(fast.promise)]
    fast.resolve()
    await clicks[1]
    const later = click(Promise.reject(lost))
    slow.resolve()
    await Promise.all([...clicks, later])
    await click(Promise.resolve())
    const [first, second, third, fourth] = keys
    expect([second, fourth]).toEqual([first, third])
    expect(third).not.toBe(first)
  })
})
