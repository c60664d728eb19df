import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { generateApiKey } from '@fusion-gateway/auth'
import pg from 'pg'
import { WebSocket } from 'ws'

/**
 * The gateway that is attacked, and the credential with which. Its tenant has the user `usr_1`, the job `job_1` and
 * others.
 */
export interface Target {
  readonly address: string
  /** The headers with the key or token. */
  readonly headers: Credential
  /** The part of the connections that this attacker opens, if there are several. 1 by default. */
  readonly part?: number
  /** Called with the status of each response to a request. */
  readonly onAnswer?: (status: number) => void
}

/** The pause after a request without a response, so that an attack on a gateway that is down takes no CPU. */
const failureMilliseconds = 20

/** The headers with a key or token. */
export type Credential = Readonly<Record<string, string>>

/** How many times as many connections as one attacker several open together. */
const strengthTogether = 4

/** Attacks with each credential at the same time, or once if the attack needs none. */
export async function attackWith(
  credentials: readonly Credential[],
  attack: Attack,
  target: Pick<Target, 'address' | 'onAnswer'>,
  signal: AbortSignal,
): Promise<void> {
  if (Object.values(attacksOfStrangers).includes(attack)) return attack({ ...target, headers: {} }, signal)
  const part = Math.min(1, strengthTogether / credentials.length)
  await Promise.all(credentials.map((headers) => attack({ ...target, headers, part }, signal)))
}

/** What one key, or a client without one, does to harm the others. It goes on until the signal aborts. */
export type Attack = (target: Target, signal: AbortSignal) => Promise<void>

/** Sends requests over `atOnce` connections, one after the other on each, and drops the responses. */
async function repeat(
  { address, headers: credential, part = 1, onAnswer }: Target,
  signal: AbortSignal,
  atOnce: number,
  next: () => { readonly path?: string; readonly body?: object; readonly headers?: Record<string, string> },
): Promise<void> {
  const clients = Math.ceil(atOnce * part)
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const sendOne = () =>
    new Promise<void>((resolve) => {
      const { path = '/graphql', body, headers } = next()
      const sent = request(address + path, {
        agent,
        signal,
        method: body ? 'POST' : 'GET',
        headers: { 'content-type': 'application/json', ...credential, ...headers },
      })
      sent.once('response', (response) => {
        onAnswer?.(response.statusCode ?? 0)
        response.resume().once('close', resolve)
      })
      sent.once('error', () => setTimeout(failureMilliseconds).then(resolve))
      sent.end(body && JSON.stringify(body))
    })
  const client = async () => {
    while (!signal.aborted) await sendOne()
  }
  await Promise.all(Array.from({ length: clients }, client))
  agent.destroy()
}

const cursor = Buffer.from('["accounts","createdAt","1769846400000","acc_1"]').toString('base64url')

const aliases = (count: number, field: string) =>
  Array.from({ length: count }, (_, index) => `a${index}: ${field}`).join(' ')

/** Opens sockets and sends a text over each. */
async function openSockets(
  { address, part = 1 }: Target,
  count: number,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  const { hostname, port } = new URL(address)
  const sockets: Socket[] = []
  for (let index = 0; index < count * part && !signal.aborted; index += 1) {
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    sockets.push(socket)
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => undefined)
    socket.write(text)
  }
  if (!signal.aborted) await once(signal, 'abort')
  for (const socket of sockets) socket.destroy()
}

/** Sends a text over `count` connections, again and again on new ones when they are closed. */
async function reconnect(
  { address, part = 1 }: Target,
  count: number,
  text: string | Buffer,
  signal: AbortSignal,
): Promise<void> {
  const { hostname, port } = new URL(address)
  const client = async () => {
    while (!signal.aborted) {
      const socket = connect({ port: Number(port), host: hostname, signal }).on('error', () => undefined)
      socket.write(text)
      // The gateway may be down: `once` rejects if the socket has an error.
      await Promise.race([once(socket, 'close'), once(signal, 'abort')]).catch(() => undefined)
      await setTimeout(failureMilliseconds)
    }
  }
  await Promise.all(Array.from({ length: Math.ceil(count * part) }, client))
}

/** The head of a request, for a socket. */
const headOf = (request: string, headers: Readonly<Record<string, string>>) =>
  `${[request, 'host: x', ...Object.entries(headers).map((header) => header.join(': '))].join('\r\n')}\r\n\r\n`

/**
 * Opens WebSockets, again and again when they are closed, and sends messages over each as fast as the gateway reads.
 */
async function floodSockets(
  { address, headers, part = 1 }: Target,
  count: number,
  next: () => object,
  signal: AbortSignal,
): Promise<void> {
  const client = async () => {
    while (!signal.aborted) {
      const socket = new WebSocket(address.replace('http', 'ws').concat('/graphql'), 'graphql-transport-ws')
      const end = () => socket.terminate()
      signal.addEventListener('abort', end, { once: true })
      socket.once('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: headers })))
      socket.once('message', async () => {
        while (socket.readyState === socket.OPEN) {
          for (let sent = 0; sent < 20 && socket.bufferedAmount < 64 * 1024; sent += 1) {
            socket.send(JSON.stringify(next()))
            socket.ping()
          }
          await setImmediate()
        }
      })
      await new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve))
      signal.removeEventListener('abort', end)
      await setTimeout(failureMilliseconds)
    }
  }
  await Promise.all(Array.from({ length: Math.ceil(count * part) }, client))
}

/** A ping frame. Its mask is zero. */
const pingFrame = Buffer.from([0x89, 0x80, 0, 0, 0, 0])

const upgradeHeaders = {
  upgrade: 'websocket',
  connection: 'upgrade',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
  'sec-websocket-protocol': 'graphql-transport-ws',
}

let number = 0

/** A document that was not sent before, with a hundred errors. */
function invalidDocument(): string {
  number += 1
  const unknown = Array.from({ length: 600 }, (_, index) => `nam${index}x${number}`).join(' ')
  return `{ users { nodes { ${unknown} } } }`
}

/** The attacks of clients without a credential. */
const attacksOfStrangers: Readonly<Record<string, Attack>> = {
  'pipelined requests for paths that do not exist': async (target, signal) => {
    const text = 'GET /nope HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(500)
    while (!signal.aborted) {
      const round = AbortSignal.any([signal, AbortSignal.timeout(300)])
      await openSockets(target, 20, text, round)
    }
  },
  'thousands of pipelined requests on each of 100 connections': (target, signal) =>
    reconnect(target, 100, 'GET /nope HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2_000), signal),
  'WebSockets without a credential, and frames': (target, signal) => {
    const head = Buffer.from(headOf('GET /graphql HTTP/1.1', upgradeHeaders))
    return reconnect(target, 200, Buffer.concat([head, ...Array.from({ length: 5_000 }, () => pingFrame)]), signal)
  },
  'slow readers of GraphiQL': (target, signal) =>
    openSockets(target, 600, 'GET /graphql HTTP/1.1\r\nhost: x\r\naccept: text/html\r\n\r\n', signal),
  'unknown keys that are well-formed': (target, signal) =>
    repeat(target, signal, 200, () => ({ path: '/users/usr_1', headers: { 'x-api-key': generateApiKey() } })),
  '300 clients of /ready': (target, signal) => repeat(target, signal, 300, () => ({ path: '/ready' })),
  '200 clients of /metrics': (target, signal) => repeat(target, signal, 200, () => ({ path: '/metrics' })),
}

/** The headers with a token that has one scope. Users create no tokens, and may see less anyway. */
async function narrowed({ address, headers }: Target, signal: AbortSignal, scope: string): Promise<Credential> {
  const query = `mutation { createAccessToken(input: { scopes: ["${scope}"] }) { accessToken } }`
  interface Created {
    readonly data?: { readonly createAccessToken?: { readonly accessToken: string } | null } | null
  }
  const created: Promise<Created> = fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
    signal,
  }).then((response) => response.json())
  // The other attackers may keep the gateway busy until the end.
  const { data } = await created.catch((): Created => ({}))
  const token = data?.createAccessToken?.accessToken
  return token === undefined ? headers : { authorization: `Bearer ${token}` }
}

/** The attacks of clients with a credential. */
const attacksOfHolders: Readonly<Record<string, Attack>> = {
  'bodies that do not arrive': (target, signal) =>
    openSockets(
      target,
      520,
      `${headOf('POST /graphql HTTP/1.1', { ...target.headers, 'content-type': 'application/json', 'content-length': '1000' })}{`,
      signal,
    ),
  'long bodies that do not end': (target, signal) => {
    const body = '{"query":"'.padEnd(1_000_000, 'x')
    const headers = { ...target.headers, 'content-type': 'application/json', 'content-length': '1000001' }
    return openSockets(target, 2_000, headOf('POST /graphql HTTP/1.1', headers) + body, signal)
  },
  'a long payload under 60 aliases': (target, signal) =>
    repeat(target, signal, 32, () => ({
      body: { query: `{ job(id: "job_1") { ${aliases(60, 'payload')} ${'result'} } }` },
    })),
  'pages of long payloads and results': (target, signal) =>
    repeat(target, signal, 32, () => ({
      body: { query: `{ ${aliases(12, 'jobs(first: 300) { nodes { payload result } }')} }` },
    })),
  'one node 450 times': (target, signal) =>
    repeat(target, signal, 32, () => ({
      body: {
        query: 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Job { payload result } } }',
        variables: { ids: Array.from({ length: 450 }, () => 'job_1') },
      },
    })),
  '60 counts of a search': (target, signal) =>
    repeat(target, signal, 32, () => ({
      body: { query: `{ ${aliases(60, 'users(first: 1, filter: { nameContains: "zzz" }) { totalCount }')} }` },
    })),
  '95 searches in a queue': (target, signal) =>
    repeat(target, signal, 95, () => {
      number += 1
      const query = `query ($text: String) { users(first: 20, filter: { nameContains: $text }) { nodes { id } } }`
      return { body: { query, variables: { text: `zzz${number}` } } }
    }),
  'statistics of everything, under 8 names': (target, signal) =>
    repeat(target, signal, 32, () => {
      number += 1
      const users = aliases(4, 'userStats(filter: $users) { count platforms(first: 100) { value } statuses { count } }')
      const profiles = aliases(
        4,
        'profileStats { count platforms { value } countries { value } categories { value } verified { unknown } statuses { count } followers { sum p50 } }',
      ).replaceAll(/a(?=\d:)/g, 'b')
      const query = `query ($users: UserFilter) { ${users} ${profiles} }`
      return { body: { query, variables: { users: { not: { nameContains: `z${number}` } } } } }
    }),
  'estimates under 60 names': (target, signal) =>
    repeat(target, signal, 32, () => {
      number += 1
      const filter = `{ or: [{ createdAfter: "2026-01-01T00:00:00.${String(number % 1000).padStart(3, '0')}Z" }, { not: { account: { status: EXPIRED } } }] }`
      return { body: { query: `{ ${aliases(60, `users(first: 0, filter: ${filter}) { totalCountEstimate }`)} }` } }
    }),
  'counts of the filter that takes longest': (target, signal) =>
    repeat(target, signal, 32, () => {
      number += 1
      const and = Array.from({ length: 20 }, (_, index) => ({
        not: { account: { user: { nameContains: `z${number}${index}` } } },
      }))
      const query = 'query ($filter: UserFilter) { users(first: 20, filter: $filter) { totalCount nodes { id } } }'
      return { body: { query, variables: { filter: { and } } } }
    }),
  'the longest filter in a nested list': (target, signal) =>
    repeat(target, signal, 32, () => {
      number += 1
      const and = Array.from({ length: 20 }, (_, index) => ({ not: { user: { nameContains: `z${number}${index}` } } }))
      const query =
        'query ($filter: AccountFilter) { users(first: 188) { nodes { accounts(first: 1, filter: $filter) { id } } } }'
      return { body: { query, variables: { filter: { and } } } }
    }),
  'arguments of nested lists that are rejected in each row': (target, signal) =>
    repeat(target, signal, 32, () => ({
      body: {
        query: `{ users(first: 330) { nodes { ${aliases(58, 'accountsConnection(first: 0, last: 0) { __typename }')} } } }`,
      },
    })),
  'rejected filters of 19,000 filters, under 58 aliases': (target, signal) =>
    repeat(target, signal, 32, () => {
      const filter = { and: Array.from({ length: 19 }, () => ({ and: Array.from({ length: 1_000 }, () => ({})) })) }
      const query = `query ($filter: UserFilter) { ${aliases(58, 'users(first: 0, filter: $filter) { __typename }')} }`
      return { body: { query, variables: { filter } } }
    }),
  'empty pages of nested lists, with the flags of both sides': (target, signal) =>
    repeat(target, signal, 32, () => {
      const pages = aliases(
        58,
        `accountsConnection(first: 0, after: "${cursor}", before: "${cursor}") { pageInfo { hasNextPage hasPreviousPage } }`,
      )
      return { body: { query: `{ users(first: 16) { nodes { ${pages} } } }` } }
    }),
  '60 nested lists with other arguments': (target, signal) =>
    repeat(target, signal, 32, () => {
      number += 1
      const lists = Array.from(
        { length: 60 },
        (_, index) => `a${index}: accounts(first: 1, filter: { search: "z${number}${index}" }) { id }`,
      )
      return { body: { query: `{ users(first: 50) { nodes { ${lists.join(' ')} } } }` } }
    }),
  'pages in an order of several fields': (target, signal) =>
    repeat(target, signal, 32, () => ({
      body: {
        query: `{ ${aliases(36, 'users(first: 500, orderBy: { field: NAME, direction: ASC }, thenBy: [{ field: CREATED_AT, direction: DESC }]) { nodes { id } }')} }`,
      },
    })),
  '500 nodes of several types': (target, signal) =>
    repeat(target, signal, 32, () => {
      number += 1
      const ids = Array.from(
        { length: 500 },
        (_, index) => `${['usr', 'acc', 'prf', 'unknown'][index % 4]}_${number + index}`,
      )
      const query =
        'query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on User { name } ... on Account { displayName user { id } } } }'
      return { body: { query, variables: { ids } } }
    }),
  'keys that spend points and are revoked': async (target, signal) => {
    const ask = async (query: string, headers: Readonly<Record<string, string>>): Promise<unknown> => {
      const response = await fetch(`${target.address}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query }),
        signal,
      })
      target.onAnswer?.(response.status)
      return ((await response.json()) as { data?: unknown }).data
    }
    const client = async () => {
      const create = 'mutation { createApiKey(input: { name: "another" }) { key apiKey { id } } }'
      const data = await ask(create, target.headers)
      const { key, apiKey } =
        (data as { createApiKey?: { key?: string; apiKey?: { id: string } } } | undefined)?.createApiKey ?? {}
      if (key === undefined) await setTimeout(failureMilliseconds)
      else await ask(`{ users(first: 500) { nodes { id accounts { id profile { id } } } } }`, { 'x-api-key': key })
      if (apiKey)
        await ask(`mutation { revokeApiKey(input: { id: "${apiKey.id}" }) { apiKey { id } } }`, target.headers)
    }
    const repeatedly = async () => {
      while (!signal.aborted) await client().catch(() => setTimeout(failureMilliseconds))
    }
    await Promise.all(Array.from({ length: Math.ceil(16 * (target.part ?? 1)) }, repeatedly))
  },
  'invalid documents': (target, signal) => repeat(target, signal, 32, () => ({ body: { query: invalidDocument() } })),
  '40,000 emails': (target, signal) => {
    const emails = Array.from({ length: 18_000 }, (_, index) => ({ value: `${index}@example.com` }))
    const query =
      'mutation ($emails: [EmailInput!]) { syncProfile(input: { accountId: "acc_1", emails: $emails }) { userErrors { field } } }'
    return repeat(target, signal, 32, () => ({ body: { query, variables: { emails } } }))
  },
  'a payload of 60,000 keys': (target, signal) => {
    const payload = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`k${index}`, 1]))
    const query =
      'mutation ($payload: JSONObject) { createJob(input: { jobType: "x", payload: $payload }) { userErrors { field } } }'
    return repeat(target, signal, 32, () => ({ body: { query, variables: { payload } } }))
  },
  'stored responses': (target, signal) =>
    repeat(target, signal, 32, () => {
      number += 1
      const payload = { text: 'x'.repeat(15_000) }
      const jobs = aliases(60, 'createJob(input: { jobType: "x", payload: $payload }) { job { id payload } }')
      return {
        body: { query: `mutation ($payload: JSONObject) { ${jobs} }`, variables: { payload } },
        headers: { 'idempotency-key': `stored-${number}` },
      }
    }),
  'short mutations with idempotency keys': (target, signal) =>
    repeat(target, signal, 100, () => {
      number += 1
      const query = 'mutation { createJob(input: { jobType: "x" }) { job { id } } }'
      return { body: { query }, headers: { 'idempotency-key': `short-${number}` } }
    }),
  'a job type for each job': (target, signal) =>
    repeat(target, signal, 32, () => {
      const jobs = Array.from({ length: 60 }, () => {
        number += 1
        return `a${number}: createJob(input: { jobType: "type${number}" }) { job { id } }`
      })
      return { body: { query: `mutation { ${jobs.join(' ')} }` } }
    }),
  'slow readers of long responses': (target, signal) => {
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Job { payload } } }'
    const body = JSON.stringify({ query, variables: { ids: Array.from({ length: 125 }, () => 'job_1') } })
    const headers = { ...target.headers, 'content-type': 'application/json', 'content-length': String(body.length) }
    return openSockets(target, 120, headOf('POST /graphql HTTP/1.1', headers) + body, signal)
  },
  'the costliest operation': (target, signal) =>
    repeat(target, signal, 32, () => ({
      body: {
        query: `{ users(first: 500) { nodes { id name accounts { id displayName profile { id emails { id value } } } } } }`,
      },
    })),
  'fields in each row that the token may not see': async (target, signal) => {
    const headers = await narrowed(target, signal, 'users:read')
    const fields = aliases(55, 'email')
    const body = {
      query: `{ a: users(first: 500) { ...F } b: users(last: 500) { ...F } } fragment F on UserConnection { nodes { ${fields} } }`,
    }
    await repeat({ ...target, headers }, signal, 32, () => ({ body }))
  },
  'entries of types that the token may not read': async (target, signal) => {
    const headers = await narrowed(target, signal, 'events:read')
    const ids = Array.from({ length: 500 }, (_, index) => `${index % 2 === 0 ? 'job' : 'usr'}_${index}`)
    const entries = { query: `query ($ids: [ID!]!) { ${aliases(39, 'nodes(ids: $ids) { id }')} }`, variables: { ids } }
    const rows = { query: `{ events(first: 500) { nodes { ${aliases(38, 'node { id }')} } } }` }
    await repeat({ ...target, headers }, signal, 32, () => {
      number += 1
      return { body: number % 2 === 0 ? entries : rows }
    })
  },
  'batches of the costliest operation and of searches': (target, signal) =>
    repeat(target, signal, 32, () => ({
      body: Array.from({ length: 10 }, (_, index) => {
        number += 1
        const costly = `query Q${number} { users(first: 500) { nodes { id name accounts { id displayName profile { id emails { id value } } } } } }`
        const search = `query Q${number} { users(first: 20, filter: { nameContains: "zzz${number}" }) { totalCount } }`
        return { query: index % 2 === 0 ? costly : search }
      }),
    })),
  '1,000 subscriptions': async (target, signal) => {
    // Several attackers open four times as many.
    const subscribe = repeat(target, signal, 250, () => ({
      body: { query: 'subscription { jobs(first: 1) { id status progress } }' },
      headers: { accept: 'text/event-stream' },
    }))
    const change = repeat(target, signal, 1, () => ({
      body: {
        query:
          'mutation { retryJob(input: { id: "job_2" }) { job { id } } cancelJob(input: { id: "job_2" }) { job { id } } }',
      },
    }))
    await Promise.all([subscribe, change])
  },
  'live queries of large pages, and changes of their rows': async (target, signal) => {
    const follow = repeat(target, signal, 500, () => {
      number += 1
      // As much work for a point as possible, and rows that change each time.
      const fields = number % 2 === 0 ? 'id name' : 'id name accounts { id displayName profile { id username } }'
      // A filter that differs each time, so that no read is shared.
      const args = `(first: 100, filter: { nameContains: "${number % 100}" }, orderBy: { field: UPDATED_AT, direction: DESC })`
      return {
        body: { query: `query @live { users${args} { nodes { ${fields} } } }` },
        headers: { accept: 'text/event-stream' },
      }
    })
    const change = repeat(target, signal, 2, () => {
      number += 1
      const query = 'mutation ($input: UpdateUserInput!) { updateUser(input: $input) { userErrors { code } } }'
      return { body: { query, variables: { input: { id: `usr_${number % 1_000}`, name: `Name ${number}` } } } }
    })
    await Promise.all([follow, change])
  },
  'WebSockets that send frames as fast as they can': (target, signal) =>
    floodSockets(
      target,
      120,
      () => {
        number += 1
        if (number % 2 === 0) return { type: 'ping', payload: { text: 'x'.repeat(50) } }
        const query = number % 4 === 1 ? '{ viewer { keyName } }' : 'subscription { jobs(first: 1) { id } }'
        return { type: 'subscribe', id: String(number), payload: { query } }
      },
      signal,
    ),
  'headers of 16 KiB that name media types': (target, signal) =>
    repeat(target, signal, 32, () => {
      number += 1
      const accept = number % 2 === 0 ? 'a/b,'.repeat(3_900) : `*/*,${'multipart/mixed;'.repeat(990)}`
      return { body: { query: 'subscription { job(id: "job_1") { id } }' }, headers: { accept } }
    }),
  // Each is asked for once, so that no response is kept.
  'new variables each time': (target, signal) =>
    repeat(target, signal, 32, () => {
      number += 1
      const query = 'query ($id: ID!) { user(id: $id) { id name accounts { id displayName profile { id username } } } }'
      return { body: { query, variables: { id: `usr_${number % 100_000}` } } }
    }),
  // Each is kept, because it is asked for twice: pages with many characters for a point.
  'new variables, each of them twice': (target, signal) =>
    repeat(target, signal, 32, () => {
      number += 1
      const query = `query ($users: UserFilter) { users(first: 70, filter: $users) { nodes { ${aliases(58, 'email')} } } }`
      const time = new Date(Date.UTC(2026, 0) + (number >> 1)).toISOString()
      return { body: { query, variables: { users: { createdAfter: time } } } }
    }),
  'documents of many tokens, and of fragments within fragments': (target, signal) =>
    repeat(target, signal, 32, () => {
      number += 1
      const tokens = `query Q${number} { nodes(ids: [${'"x" '.repeat(400)}]) { id } ${'viewer { keyName } '.repeat(100)} }`
      const spreads = Array.from({ length: 12 }, (_, at) => `fragment F${at} on Viewer { ...F${at + 1} ...F${at + 1} }`)
      const leaf = `fragment F12 on Viewer { ${'... @include(if: true) { '.repeat(150)} keyName ${'} '.repeat(150)} }`
      const nested = `query Q${number} { viewer { ...F0 } } ${spreads.join(' ')} ${leaf}`
      return { body: { query: number % 2 === 0 ? tokens : nested } }
    }),
}

/** The attacks by what they do. */
export const attacks: Readonly<Record<string, Attack>> = { ...attacksOfHolders, ...attacksOfStrangers }

/** What operators do to a database that is in use, by its URL. */
export const accidentsIn = (url: string): Readonly<Record<string, Attack>> => ({
  'an operator locks the table of profiles': (_target, signal) => lockUntil(signal, url, 'profile'),
  'an operator locks the log of events': (_target, signal) => lockUntil(signal, url, 'event'),
})

/** Keeps a table locked, as an `ALTER TABLE` does that waits for a `pg_dump`. */
async function lockUntil(signal: AbortSignal, url: string, table: string): Promise<void> {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  await session.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
  if (!signal.aborted) await once(signal, 'abort')
  await session.end()
}
