import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../../src/domain/resource.ts'
import { type MarkedTenant, tenantsIn } from '../../soak/tenants.ts'
import type { Condition, Conditions } from '../faults/conditions.ts'
import { codesOf, findViolation, type GatewayResponse } from './contract.ts'

/** A request of a tenant. */
export interface Call {
  readonly tenant: MarkedTenant
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly body?: object
  readonly idempotencyKey?: string | undefined
}

/** The last response, and the number of requests until then. */
export interface Sent {
  /** Undefined if there was none, or if it was that the request can be sent again. */
  readonly response: GatewayResponse | undefined
  readonly requests: number
  /** Whether the last response was that the request can be sent again. */
  readonly isRefused: boolean
}

/** Sends requests as a careful client does. */
export interface Client {
  readonly random: Random
  /** Sends a request once. */
  sendOnce(call: Call): Promise<Sent>
  /** Sends a request once, and disconnects after a few milliseconds. */
  sendImpatiently(call: Call): Promise<Sent>
  /**
   * Sends a request until it gets a response. It is sent again to the next gateway, and after a part of `Retry-After`
   * when all gateways were asked.
   *
   * @param gateway the first one
   * @returns no response if the campaign ends before
   */
  send(call: Call, gateway?: number): Promise<Sent>
  /** Waits as long as a user takes. */
  think(): Promise<void>
}

export interface ClientOptions {
  readonly gateways: readonly string[]
  readonly conditions: Conditions
  readonly random: Random
  /** Called with the status of each response, or why there is none. */
  readonly count: (condition: Condition, status: string) => void
  readonly note: (problem: string) => void
  readonly print: (line: string) => void
  /** Aborts when nothing is sent again. */
  readonly end: AbortSignal
}

/** More than the gateway's timeouts of a database add up to. */
const maxMilliseconds = 30_000

const minPauseSeconds = 0.3
const impatientMilliseconds = 60
const maxThinkMilliseconds = 400

/** Codes with which a request may be sent again. */
const temporaryCodes = new Set(['SERVICE_UNAVAILABLE', 'RATE_LIMITED', 'IDEMPOTENCY_KEY_IN_USE', 'REQUEST_TIMEOUT'])

export function createClient({ gateways, conditions, random, count, note, print, end }: ClientOptions): Client {
  /** Returns undefined if the connection breaks or the client disconnects. */
  async function request(call: Call, gateway: number, milliseconds: number): Promise<GatewayResponse | undefined> {
    const { tenant, path, body, method = body ? 'POST' : 'GET', idempotencyKey } = call
    const condition = conditions.observe(gateway)
    const signal = AbortSignal.timeout(milliseconds)
    try {
      const response = await fetch(gateways[gateway] + path, {
        method,
        signal,
        headers: {
          'x-api-key': tenant.key,
          ...(body && { 'content-type': 'application/json' }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        },
        ...(body && { body: JSON.stringify(body) }),
      })
      const reply = { status: response.status, headers: response.headers, text: await response.text() }
      const codes = codesOf(reply)
      const during = condition()
      count(during, codes.length > 0 ? `${reply.status} ${codes[0]}` : String(reply.status))
      if (during !== 'during faults' && reply.status >= 500) print(`gateway ${gateway + 1} ${during}: ${reply.text}`)
      check(call, reply)
      return reply
    } catch (error) {
      const { code, message } = ((error as Error).cause ?? error) as NodeJS.ErrnoException
      if (signal.aborted && milliseconds === maxMilliseconds) note(`there was no response in 30 s: ${describe(call)}`)
      count(condition(), signal.aborted ? 'disconnected' : (code ?? message))
      return undefined
    }
  }

  function check(call: Call, response: GatewayResponse): void {
    const { tenant, path } = call
    const violation = findViolation(path, response)
    const described = `${describe(call)}: ${response.status} ${response.text.slice(0, 1_000)}`
    if (violation) note(`${violation}: ${described}`)
    const foreign = tenantsIn(response.text)
    foreign.delete(tenant.number)
    if (foreign.size > 0) note(`tenant ${tenant.number} got rows of tenant ${[...foreign]}: ${described}`)
  }

  async function sendOnce(call: Call, gateway: number, milliseconds: number) {
    const response = await request(call, gateway, milliseconds)
    const isRefused = response !== undefined && isTemporary(response)
    const retryAfterSeconds = Number(response?.headers.get('retry-after'))
    return { response: isRefused ? undefined : response, requests: 1, isRefused, retryAfterSeconds }
  }

  return {
    random,
    sendOnce: (call) => sendOnce(call, random.below(gateways.length), maxMilliseconds),
    sendImpatiently: (call) => sendOnce(call, random.below(gateways.length), 1 + random.below(impatientMilliseconds)),
    async send(call, first = random.below(gateways.length)) {
      for (let requests = 1; ; requests += 1) {
        const sent = await sendOnce(call, (first + requests - 1) % gateways.length, maxMilliseconds)
        if (sent.response || end.aborted) return { ...sent, requests }
        const wereAllAsked = requests % gateways.length === 0
        const seconds = (wereAllAsked && sent.retryAfterSeconds) || minPauseSeconds
        await sleep(seconds * random.below(1_000), undefined, { signal: end }).catch(() => undefined)
      }
    },
    think: () => sleep(random.below(maxThinkMilliseconds)),
  }
}

function describe({ path, body }: Call): string {
  return body ? `${path} ${JSON.stringify(body)}` : path
}

function isTemporary(response: GatewayResponse): boolean {
  const codes = codesOf(response)
  return codes.length > 0 && codes.every((code) => temporaryCodes.has(code))
}
