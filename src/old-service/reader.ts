import type { ClientRequest, IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError, ownValue } from '@fusion-gateway/base'
import { readRetryAfter } from '@fusion-gateway/network'
import { createClient, exchange, type ReceivedResponse, reasonOf } from './send.ts'

export interface ReaderOptions {
  /** The address of the service, which can have a path. */
  readonly url: string
  readonly credential: Readonly<Record<string, string>>
  /** The most requests per second. */
  readonly rate: number
  /** Called before a request is sent again, with the reason and how long that waits. */
  readonly onRetry: (message: string) => void
}

/** A request that the service has refused, and will refuse again. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** A failure that may be over later. */
class Unavailable extends Error {
  override readonly name = 'Unavailable'
  /** How long the service asks to wait. */
  readonly seconds: number | undefined

  constructor(message: string, seconds?: number) {
    super(message)
    this.seconds = seconds
  }
}

/** The service was unavailable as often as a request is repeated. */
class Exhausted extends OperatorError {}

/** How often a request is sent, and how often each way of carrying ids is tried. */
const maxAttempts = 8
const maxTries = 3

/** How long the first repetition waits, and how long a service may ask to wait. */
const firstWaitSeconds = 0.25
const maxWaitSeconds = 300

/** How long a response may take, and a chunk of a long one. */
const timeoutMilliseconds = 60_000

/** The profiles of one request, and the longest query string that names their accounts. */
export const groupSize = 100
const maxQueryLength = 6_000

/** How the ids of profiles are carried, which the interface leaves open. */
type Carry = (ids: readonly string[]) => { readonly query: string; readonly body: string }

const inQuery =
  (name: string): Carry =>
  (ids) => ({ query: `?${name}=${encodeURIComponent(JSON.stringify(ids))}`, body: '' })

/** The ways in which services carry them, first tried first. */
const carries: readonly Carry[] = [
  (ids) => ({ query: '', body: JSON.stringify(ids) }),
  inQuery('account_ids'),
  inQuery('ids'),
  inQuery('accounts'),
  (ids) => ({ query: `?${ids.map((id) => `account_ids=${encodeURIComponent(id)}`).join('&')}`, body: '' }),
]

/** After so many groups without a profile, the way that the service accepts is the right one. */
const maxUndecided = 5

export type Reader = ReturnType<typeof createReader>

type OnRefused = (id: string, reason: string) => Promise<void>

/**
 * Creates a reader of the earlier service. It sends one request at a time, and repeats those that may succeed later.
 */
export function createReader({ url, credential, rate, onRetry }: ReaderOptions) {
  const client = createClient({ url, credential })
  let nextAt = 0

  /** Waits until the next request may be sent. */
  async function pace(): Promise<void> {
    const now = performance.now()
    const at = Math.max(now, nextAt)
    nextAt = at + 1_000 / rate
    if (at > now) await sleep(at - now)
  }

  async function withRetries<Result>(
    name: string,
    attempt: () => Promise<Result>,
    most = maxAttempts,
  ): Promise<Result> {
    for (let count = 1; ; count += 1) {
      await pace()
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error
        if (count === most) {
          throw new Exhausted(
            `${name} of the old service failed ${count} times: ${error.message}. Run the import again.`,
          )
        }
        const seconds = error.seconds ?? firstWaitSeconds * 2 ** (count - 1)
        if (seconds > maxWaitSeconds) {
          throw new OperatorError(`The old service asks to wait ${Math.round(seconds)} s. Run the import again then.`)
        }
        onRetry(`${name}: ${error.message}. Trying again in ${seconds} s.`)
        await sleep(seconds * 1_000)
      }
    }
  }

  /** Sends a request, and repeats it until it has a response. @throws Refused */
  function get(path: string, body = '', most = maxAttempts): Promise<Buffer> {
    const [name = ''] = path.split('?', 1)
    const headers = ['accept', 'application/json', ...(body === '' ? [] : ['content-type', 'application/json'])]
    return withRetries(
      `GET ${name}`,
      async () => {
        const request = { method: 'GET', target: path, headers }
        const response = await exchange(client, request, Buffer.from(body), {
          milliseconds: timeoutMilliseconds,
        }).catch((error: unknown) => {
          throw new Unavailable(reasonOf(error))
        })
        requireSuccess(response, name)
        return response.body
      },
      most,
    )
  }

  return {
    /**
     * Receives the response with all users, which can have any length.
     *
     * @param write called with its bytes, after `begin`, which is called again if it breaks off
     * @throws OperatorError if the service refuses it
     */
    async users(begin: () => Promise<void>, write: (chunk: Buffer) => Promise<void>): Promise<void> {
      await withRetries('GET /users', async () => {
        await begin()
        const request = { method: 'GET', target: '/users', headers: ['accept', 'application/json'] }
        const response = await responseTo(client.start(request, { reusesConnections: false }))
        try {
          requireSuccess({ status: response.statusCode ?? 0, headers: response.headers }, '/users')
          for await (const chunk of withTimeout(response)) await write(chunk)
        } finally {
          response.destroy()
        }
      }).catch((error: unknown) => {
        throw error instanceof Refused ? new OperatorError(`${error.message}.`) : error
      })
    },

    /**
     * Reads the profiles of accounts.
     *
     * @param onRefused called with the ids that the service refuses, one by one, and why
     */
    profiles: createProfileReader(get),

    /** Reads a job, as the text of its JSON. @throws Refused */
    async job(id: string): Promise<string> {
      const body = await get(`/fusion/jobs/${encodeURIComponent(id)}`)
      return body.toString('utf8').replace(/[\r\n]/g, ' ')
    },

    close: client.close,
  }
}

/** Sends a request, and repeats it at most some times. @throws Refused */
type Get = (path: string, body?: string, most?: number) => Promise<Buffer>

/** Creates the reader of profiles, which finds out how the service takes the ids of accounts. */
function createProfileReader(get: Get) {
  let carry: Carry | undefined
  let undecided = 0

  /** Reads the profiles of a group in one of the ways. @throws Refused */
  async function getProfiles(ids: readonly string[], by: Carry): Promise<Record<string, unknown>[]> {
    const { query, body } = by(ids)
    if (query.length > maxQueryLength && ids.length > 1) return halves(ids, (half) => getProfiles(half, by))
    const profiles = listIn(await get(`/fusion/profiles${query}`, body, carry ? maxAttempts : maxTries), 'profiles')
    if (!profiles) throw new Refused(200, 'GET /fusion/profiles responded without the list profiles')
    return profiles
  }

  /** Finds out how the service takes ids: the first way in which it returns a profile. */
  async function tryProfiles(ids: readonly string[]): Promise<Record<string, unknown>[]> {
    let accepted: Carry | undefined
    let refusal: unknown
    let failure: unknown
    for (const by of carries) {
      try {
        const profiles = await getProfiles(ids, by)
        accepted ??= by
        if (profiles.length > 0) {
          carry = by
          return profiles
        }
      } catch (error) {
        if (error instanceof Exhausted) failure ??= error
        else if (error instanceof Refused) refusal ??= error
        else throw error
      }
    }
    // A way that failed can have been the right one.
    if (failure) throw failure
    if (!accepted) throw refusal
    undecided += 1
    if (undecided === maxUndecided) carry = accepted
    return []
  }

  return async (ids: readonly string[], onRefused: OnRefused): Promise<Record<string, unknown>[]> => {
    const read = async (some: readonly string[]): Promise<Record<string, unknown>[]> => {
      try {
        return await (carry ? getProfiles(some, carry) : tryProfiles(some))
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        if (some.length > 1) return halves(some, read)
        await onRefused(some[0] ?? '', error.message)
        return []
      }
    }
    return read(ids)
  }
}

async function halves<Item>(
  ids: readonly string[],
  read: (half: readonly string[]) => Promise<Item[]>,
): Promise<Item[]> {
  const middle = Math.ceil(ids.length / 2)
  return [...(await read(ids.slice(0, middle))), ...(await read(ids.slice(middle)))]
}

/**
 * @throws Unavailable if the request may succeed later
 * @throws OperatorError if the key is refused, as it would be with each request
 * @throws Refused otherwise, unless it has succeeded
 */
function requireSuccess({ status, headers }: Omit<ReceivedResponse, 'body'>, path: string): void {
  if (status >= 200 && status < 300) return
  const message = `GET ${path} responded ${status}`
  if (status === 429 || status === 408 || status === 425 || status >= 500) {
    throw new Unavailable(`it responded ${status}`, readRetryAfter(headers['retry-after']))
  }
  if (status === 401 || status === 403) throw new OperatorError(`The old service refuses the key: ${message}.`)
  throw new Refused(status, message)
}

/** The list under a key of a JSON object, of which the items are objects. */
function listIn(body: Buffer, key: string): Record<string, unknown>[] | undefined {
  try {
    const list: unknown = ownValue(Object(JSON.parse(body.toString('utf8'))), key)
    return Array.isArray(list) ? list.filter((item) => typeof item === 'object' && item !== null) : undefined
  } catch {
    return undefined
  }
}

/** @throws Unavailable if there is none in time */
function responseTo(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const late = () => sent.destroy(new Error('no response in time'))
    const timer = setTimeout(late, timeoutMilliseconds)
    sent.on('error', (error) => {
      clearTimeout(timer)
      reject(new Unavailable(reasonOf(error)))
    })
    sent.on('response', (response) => {
      clearTimeout(timer)
      resolve(response)
    })
    sent.end()
  })
}

/** @throws Unavailable if the response breaks off, or stands still */
async function* withTimeout(response: IncomingMessage): AsyncGenerator<Buffer> {
  const chunks = response[Symbol.asyncIterator]()
  for (;;) {
    const timer = setTimeout(() => response.destroy(new Error('the response stands still')), timeoutMilliseconds)
    const { done, value } = await chunks.next().catch((error: unknown) => {
      throw new Unavailable(reasonOf(error))
    })
    clearTimeout(timer)
    if (done) return
    yield value as Buffer
  }
}
