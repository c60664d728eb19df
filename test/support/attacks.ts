import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'

/** The gateway that is attacked, and the key with which. The key's tenant has the user `usr_1`, the job `job_1` and others. */
export interface Target {
  readonly address: string
  readonly key: string
  /** Called with the status of each response to a request. */
  readonly onAnswer?: (status: number) => void
}

/** The pause after a request without a response, so that an attack on a gateway that is down takes no CPU. */
const failureMilliseconds = 20

/** What one key, or a client without one, does to harm the others. It goes on until the signal aborts. */
export type Attack = (target: Target, signal: AbortSignal) => Promise<void>

/** Sends requests over `atOnce` connections, one after the other on each, and drops the responses. */
async function repeat(
  { address, key, onAnswer }: Target,
  signal: AbortSignal,
  atOnce: number,
  next: () => { readonly path?: string; readonly body?: object; readonly headers?: Record<string, string> },
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  const sendOne = () =>
    new Promise<void>((resolve) => {
      const { path = '/graphql', body, headers } = next()
      const sent = request(address + path, {
        agent,
        signal,
        method: body ? 'POST' : 'GET',
        headers: { 'content-type': 'application/json', 'x-api-key': key, ...headers },
      })
      sent.once('response', (answer) => {
        onAnswer?.(answer.statusCode ?? 0)
        answer.resume().once('close', resolve)
      })
      sent.once('error', () => setTimeout(failureMilliseconds).then(resolve))
      sent.end(body && JSON.stringify(body))
    })
  const client = async () => {
    while (!signal.aborted) await sendOne()
  }
  await Promise.all(Array.from({ length: atOnce }, client))
  agent.destroy()
}

const aliases = (count: number, field: string) =>
  Array.from({ length: count }, (_, index) => `a${index}: ${field}`).join(' ')

/** Opens sockets and sends a text over each. */
async function openSockets({ address }: Target, count: number, text: string, signal: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(address)
  const sockets: Socket[] = []
  for (let index = 0; index < count && !signal.aborted; index += 1) {
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    sockets.push(socket)
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => undefined)
    socket.write(text)
  }
  if (!signal.aborted) await once(signal, 'abort')
  for (const socket of sockets) socket.destroy()
}

/** Sends a text over `count` connections, again and again on new ones when they are closed. */
async function reconnect({ address }: Target, count: number, text: string, signal: AbortSignal): Promise<void> {
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
  await Promise.all(Array.from({ length: count }, client))
}

let number = 0

/** A document that was not sent before, with a hundred errors. */
function invalidDocument(): string {
  number += 1
  const unknown = Array.from({ length: 600 }, (_, index) => `nam${index}x${number}`).join(' ')
  return `{ users { nodes { ${unknown} } } }`
}

/** The attacks by what they do. */
export const attacks: Readonly<Record<string, Attack>> = {
  'bodies that do not arrive': (target, signal) =>
    openSockets(
      target,
      520,
      `POST /graphql HTTP/1.1\r\nhost: x\r\nx-api-key: ${target.key}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{`,
      signal,
    ),
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
    const headers = `host: x\r\nx-api-key: ${target.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
    return openSockets(target, 120, `POST /graphql HTTP/1.1\r\n${headers}\r\n\r\n${body}`, signal)
  },
  'the costliest operation': (target, signal) =>
    repeat(target, signal, 32, () => ({
      body: {
        query: `{ users(first: 500) { nodes { id name accounts { id displayName profile { id emails { id value } } } } } }`,
      },
    })),
  '1,000 subscriptions': async (target, signal) => {
    const subscribe = repeat(target, signal, 1_000, () => ({
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
  'pipelined requests for paths that do not exist': async (target, signal) => {
    const text = 'GET /nope HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(500)
    while (!signal.aborted) {
      const round = AbortSignal.any([signal, AbortSignal.timeout(300)])
      await openSockets(target, 20, text, round)
    }
  },
  'thousands of pipelined requests on each of 100 connections': (target, signal) =>
    reconnect(target, 100, 'GET /nope HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2_000), signal),
  'slow readers of GraphiQL': (target, signal) =>
    openSockets(target, 600, 'GET /graphql HTTP/1.1\r\nhost: x\r\naccept: text/html\r\n\r\n', signal),
  '200 clients of /metrics': (target, signal) => repeat(target, signal, 200, () => ({ path: '/metrics' })),
  'headers of 16 KiB that name media types': (target, signal) =>
    repeat(target, signal, 32, () => {
      number += 1
      const accept = number % 2 === 0 ? 'a/b,'.repeat(3_900) : `*/*,${'multipart/mixed;'.repeat(990)}`
      return { body: { query: 'subscription { job(id: "job_1") { id } }' }, headers: { accept } }
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
