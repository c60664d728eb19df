import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import type { Viewer } from '@fusion-gateway/auth'
import { GatewayError, type LimitName } from '@fusion-gateway/base'
import type { Metrics } from '@fusion-gateway/telemetry'
import type { Reservation } from './reservation.ts'

// What is held at a time: by the subjects of limits, by the process, and by a request.

/** The holder of a key or token, whose use of the gateway is limited. */
export type Payer = Pick<Viewer, 'tenantAppId' | 'keyId' | 'userId' | 'pointsPerMinute'>

/**
 * Whose use is counted: of a tenant with all its keys and tokens, of a key with its tokens that are not bound to a
 * user, of all users of the tenant together, and of one user. A key with a limit of its own also counts its tokens for
 * users.
 */
export type SubjectKind = 'tenant' | 'key' | 'users' | 'user'

export interface Subject {
  readonly kind: SubjectKind
  /** Unique. The braces keep the counts of a tenant on one server of a Redis cluster. */
  readonly name: string
}

/**
 * Returns the subjects to which the use of a payer counts, the widest first. A tenant creates keys and tokens as it
 * likes, so limits for each of them would bind nobody. Users do not count to the key that created their tokens: they
 * must not stop the tenant's own server.
 */
export function subjectsOf(payer: Payer): readonly Subject[] {
  const found = known.get(payer)
  if (found) return found
  const subjects = listSubjects(payer)
  known.set(payer, subjects)
  return subjects
}

/** Each request counts its payer several times. A payer is one object for as long as its key is cached. */
const known = new WeakMap<Payer, readonly Subject[]>()

function listSubjects({ tenantAppId, keyId, userId, pointsPerMinute }: Payer): readonly Subject[] {
  const name = `{${tenantAppId}}`
  const tenant: Subject = { kind: 'tenant', name }
  const key: Subject = { kind: 'key', name: `${name} key ${keyId}` }
  if (userId === undefined) return [tenant, key]
  const users: Subject = { kind: 'users', name: `${name} users` }
  const user: Subject = { kind: 'user', name: `${name} user ${userId}` }
  return pointsPerMinute === undefined ? [tenant, users, user] : [tenant, users, key, user]
}

export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>

/** How many permits a subject has, in multiples of those of a key, and the words for it. */
export const shares: Readonly<
  Record<SubjectKind, { readonly factor: number; readonly owner: string; readonly share: string }>
> = {
  tenant: { factor: 2, owner: 'The tenant has', share: ": twice a key's" },
  key: { factor: 1, owner: 'The key has', share: '' },
  users: { factor: 1, owner: "The users of the tenant's tokens have", share: ": as many as a key's" },
  user: { factor: 1 / 4, owner: 'The user has', share: ": a quarter of a key's" },
}

const delaySeconds = 1

/** Waits before a rejection is sent: a client that tries again at once would keep the gateway busy. */
export const delayRejection = (milliseconds = delaySeconds * 1_000): Promise<void> => setTimeout(milliseconds)

/**
 * Limits what a tenant, a key, and the users of tokens have open at a time, such as requests.
 *
 * @param limit its name in the log and in metrics
 * @param max how many permits a key has
 * @param plural what is limited, in the words of an error: requests, subscriptions, MiB of something
 * @param rejectionMilliseconds how long a rejection waits: a second by default
 */
export function createConcurrencyLimit(limit: LimitName, max: number, plural: string, rejectionMilliseconds?: number) {
  const taken = new Map<string, number>()
  const maxOf = (kind: SubjectKind) => Math.ceil(max * shares[kind].factor)
  const takenBy = (name: string) => taken.get(name) ?? 0

  function add(name: string, count: number): void {
    const sum = takenBy(name) + count
    if (sum === 0) taken.delete(name)
    else taken.set(name, sum)
  }

  /** The narrowest subject that has too few permits left. */
  function findFull(payer: Payer, count: number): SubjectKind | undefined {
    return subjectsOf(payer).findLast(({ kind, name }) => takenBy(name) + count > maxOf(kind))?.kind
  }

  async function reject(kind: SubjectKind): Promise<never> {
    const { owner, share } = shares[kind]
    await delayRejection(rejectionMilliseconds)
    throw new GatewayError('RATE_LIMITED', `${owner} ${maxOf(kind)} ${plural}, the most at a time${share}.`, {
      limit,
      headers: { 'retry-after': String(delaySeconds) },
    })
  }

  /** Takes permits even if there are too few left. Returns what releases them. */
  function hold(payer: Payer, count: number): () => void {
    const subjects = subjectsOf(payer)
    for (const { name } of subjects) add(name, count)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      for (const { name } of subjects) add(name, -count)
    }
  }

  return {
    /** Takes permits. Returns the function that releases them once. Rejects after a second if too few are left. */
    take(payer: Payer, count = 1): (() => void) | Promise<never> {
      const full = findFull(payer, count)
      return full ? reject(full) : hold(payer, count)
    },

    /** Takes nothing, but rejects, after a second, a payer who holds more permits than there are. */
    check(payer: Payer): undefined | Promise<never> {
      const full = findFull(payer, 0)
      return full && reject(full)
    },

    hold,
  }
}

/** How much load a process accepts. */
export interface LoadLimits {
  /** The maximum number of requests at a time. */
  readonly maxInFlight: number
  readonly maxInFlightPerKey: number
  readonly maxEventLoopDelayMilliseconds: number
}

export type Places = ReturnType<typeof createPlaces>

/**
 * The part of the places of a process that everyone can take. The rest is for tenants that have less than their share:
 * the places divided by the tenants that have any. So a few tenants with very many requests cannot stop the others.
 * Requests without a key never get one of the rest: clients without a key have no limits of their own.
 */
const shareOfProcess = 4 / 5

const withoutKey = ''

export function createPlaces(
  { maxInFlight, maxInFlightPerKey, maxEventLoopDelayMilliseconds }: LoadLimits,
  { requestsInFlight }: Pick<Metrics, 'requestsInFlight'>,
) {
  const eventLoop = watchEventLoop(maxEventLoopDelayMilliseconds)
  const limit = createConcurrencyLimit('in_flight_of_key', maxInFlightPerKey, 'requests')
  let inFlight = 0
  /** The requests in flight of each tenant, and of those without a key. */
  const ofTenants = new Map<string, number>()

  /** Whether there is no place for a tenant. */
  function isFull(tenant: string): boolean {
    if (inFlight < maxInFlight * shareOfProcess) return false
    const own = ofTenants.get(tenant) ?? 0
    return (
      tenant === withoutKey || inFlight >= maxInFlight || own >= maxInFlight / (ofTenants.size + (own === 0 ? 1 : 0))
    )
  }

  function count(tenant: string, change: 1 | -1): void {
    inFlight += change
    requestsInFlight.set(inFlight)
    const own = (ofTenants.get(tenant) ?? 0) + change
    if (own === 0) ofTenants.delete(tenant)
    else ofTenants.set(tenant, own)
  }

  return {
    /** @throws GatewayError SERVICE_UNAVAILABLE if the process has too much work */
    requireCapacity(): void {
      if (inFlight >= maxInFlight) throw overloaded('in_flight')
      if (eventLoop.isLate()) throw overloaded('event_loop')
    },

    /**
     * Takes the place of a request that has arrived.
     *
     * @param viewer null for a request without a key
     * @returns nothing, or a promise that rejects
     * @throws GatewayError RATE_LIMITED, after a second, or SERVICE_UNAVAILABLE
     */
    take(viewer: Viewer | null, held: Held): undefined | Promise<never> {
      const permit = viewer ? limit.take(viewer) : () => undefined
      if (permit instanceof Promise) return permit
      const tenant = viewer?.tenantAppId ?? withoutKey
      if (isFull(tenant)) {
        permit()
        throw overloaded('in_flight')
      }
      count(tenant, 1)
      held.takePlace(() => {
        permit()
        count(tenant, -1)
      })
      return undefined
    },

    close: eventLoop.stop,
  }
}

function overloaded(limit: 'in_flight' | 'event_loop'): GatewayError {
  const variable = limit === 'in_flight' ? ' (MAX_IN_FLIGHT)' : ''
  const message = `The gateway has too many requests right now${variable}. Try again shortly.`
  return new GatewayError('SERVICE_UNAVAILABLE', message, { limit })
}

/**
 * What a request, or an operation of a WebSocket, holds: its place among those in flight, the points that were taken
 * for it, and what its client has not received yet. Whatever ends the request gives everything back, once.
 */
export class Held {
  #place: (() => void) | undefined
  #points: Reservation | undefined
  #others: (() => void)[] = []
  #isOver = false

  /** Whether everything was given back. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Holds a place instead of the one before. */
  takePlace(release: () => void): void {
    this.leavePlace()
    if (this.#isOver) release()
    else this.#place = release
  }

  /** Gives the place back early: the request only waits for events from now on, or for a slow reader of a page. */
  leavePlace(): void {
    this.#place?.()
    this.#place = undefined
  }

  /** The points that were taken for it, or for the last event of its subscription. */
  get points(): Reservation | undefined {
    return this.#points
  }

  holdPoints(points: Reservation): void {
    this.#points?.end()
    this.#points = points
    if (this.#isOver) points.end()
  }

  /** Calls `release` when the request is over: its client has received the response, or has gone. */
  untilOver(release: () => void): void {
    if (this.#isOver) release()
    else this.#others.push(release)
  }

  /** Gives everything back. Further calls do nothing. */
  end(): void {
    this.#isOver = true
    this.leavePlace()
    this.#points?.end()
    for (const release of this.#others.splice(0)) release()
  }
}

const resolutionMilliseconds = 10

const intervalMilliseconds = 1_000

/** Measures the event loop each second. It is late after two late seconds: a single long step is over by then. */
function watchEventLoop(maxMilliseconds: number) {
  const delay = monitorEventLoopDelay({ resolution: resolutionMilliseconds })
  let lateSeconds = 0
  let timer: NodeJS.Timeout | undefined

  function start(): NodeJS.Timeout {
    delay.enable()
    let checkedAt = performance.now()
    const check = () => {
      const elapsed = performance.now() - checkedAt
      checkedAt += elapsed
      // There is no sample if the loop was blocked for the whole interval.
      const mean = delay.count > 0 ? delay.mean / 1e6 - resolutionMilliseconds : elapsed
      delay.reset()
      lateSeconds = mean > maxMilliseconds ? lateSeconds + 1 : 0
    }
    return setInterval(check, intervalMilliseconds).unref()
  }

  return {
    isLate(): boolean {
      timer ??= start()
      return lateSeconds >= 2
    },
    stop(): void {
      clearInterval(timer)
      delay.disable()
    },
  }
}
