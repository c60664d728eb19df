import { setTimeout } from 'node:timers/promises'
import type { Metrics } from '@fusion-gateway/telemetry'
import { LRUCache } from 'lru-cache'
import {
  type ConcurrencyLimit,
  createConcurrencyLimit,
  createPlaces,
  type LoadLimits,
  type Payer,
  type Places,
  shares,
  subjectsOf,
} from './concurrency.ts'
import type { FairQueues } from './fair-queue.ts'
import { type RateLimit, unlimited } from './rate-limit.ts'

/** How many messages a key may send per second, and at once. Tenants and users have multiples of it, as of permits. */
const messagesPerSecond = 1_000

/** The shortest wait. Hundreds of sockets that wait must not keep the event loop busy with asking. */
const minWaitMilliseconds = 50

/** How many subjects are counted. One that is forgotten begins anew. */
const maxSubjects = 10_000

type MessageBudget = ReturnType<typeof createMessageBudget>

/** Bounds the messages of all WebSockets of a key, a tenant and its users. Messages cost no points. */
function createMessageBudget() {
  const levels = new LRUCache<string, { readonly level: number; readonly at: number }>({ max: maxSubjects })

  /** Takes messages. Returns 0, or after how many milliseconds to try again. */
  function take(payer: Payer, count = 1): number {
    const now = performance.now()
    const subjects = subjectsOf(payer).map(({ kind, name }) => {
      const max = messagesPerSecond * shares[kind].factor
      const { level, at } = levels.get(name) ?? { level: 0, at: now }
      return { name, max, level: Math.max(0, level - ((now - at) / 1_000) * max) }
    })
    const wait = Math.max(...subjects.map(({ level, max }) => ((level + count - max) / max) * 1_000))
    if (wait > 0) return wait + minWaitMilliseconds * (1 + Math.random())
    for (const { name, level } of subjects) levels.set(name, { level: level + count, at: now })
    return 0
  }

  return {
    take,
    /** Takes messages as soon as there are so many, unless the client has left. */
    async wait(payer: Payer, count: number, hasLeft = () => false): Promise<void> {
      for (let wait = take(payer, count); wait > 0 && !hasLeft(); wait = take(payer, count)) {
        await setTimeout(wait, undefined, { ref: false })
      }
    },
  }
}

/** The limits of operations, in the order of their life. docs/limits.md lists them. */
export interface OperationLimits {
  /** Admit: points per minute. */
  readonly points: RateLimit
  /** Admit: subscriptions. */
  readonly subscriptions: ConcurrencyLimit
  /** Run: turns of the event loop and of the database. */
  readonly queues: FairQueues
  /** Sent: MiB of long responses that clients have not read. */
  readonly unsent: ConcurrencyLimit
  /** How long a rejection waits. */
  readonly rejectionMilliseconds: number | undefined
}

/** The limits of a process that clients connect to. What they count, they count for each of `subjectsOf`. */
export interface Limits extends OperationLimits {
  /** Arrive: requests whose bodies are still arriving. They take memory but no place. */
  readonly arriving: ConcurrencyLimit
  /** Arrive: requests in flight. */
  readonly places: Places
  /** Arrive: WebSockets. */
  readonly webSockets: ConcurrencyLimit
  /** Arrive: messages of WebSockets. */
  readonly messages: MessageBudget
}

export interface OperationLimitsOptions {
  readonly queues: FairQueues
  readonly rateLimit?: RateLimit | undefined
  readonly maxSubscriptionsPerKey: number
  /** The most MiB of unread long responses of the clients of one key. */
  readonly maxUnsentMibPerKey: number
  /** How long a rejection waits, other than one of the rate limit: a second by default. */
  readonly rejectionMilliseconds?: number | undefined
}

export function createOperationLimits(options: OperationLimitsOptions): OperationLimits {
  const { queues, rateLimit = unlimited, maxSubscriptionsPerKey, maxUnsentMibPerKey, rejectionMilliseconds } = options
  return {
    points: rateLimit,
    subscriptions: createConcurrencyLimit(
      'subscriptions_of_key',
      maxSubscriptionsPerKey,
      'subscriptions',
      rejectionMilliseconds,
    ),
    queues,
    unsent: createConcurrencyLimit(
      'unsent_of_key',
      maxUnsentMibPerKey,
      'MiB of responses that its clients have not read',
      rejectionMilliseconds,
    ),
    rejectionMilliseconds,
  }
}

export interface LimitsOptions extends OperationLimitsOptions {
  readonly load: LoadLimits
  readonly maxSocketsPerKey: number
  readonly metrics: Metrics
}

/** Creates the limits of a process that clients connect to. Its `places` are closed when it stops. */
export function createLimits(options: LimitsOptions): Limits {
  const { rejectionMilliseconds } = options
  return {
    ...createOperationLimits(options),
    // Twice as many as places: requests can take a place while others arrive.
    arriving: createConcurrencyLimit(
      'arriving_of_key',
      2 * options.load.maxInFlightPerKey,
      'requests that arrive',
      rejectionMilliseconds,
    ),
    places: createPlaces(options.load, options.metrics),
    webSockets: createConcurrencyLimit('sockets_of_key', options.maxSocketsPerKey, 'WebSockets', rejectionMilliseconds),
    messages: createMessageBudget(),
  }
}
