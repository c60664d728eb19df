import { GatewayError } from '@fusion-gateway/base'
import { createMetrics, type Logger, type Metrics } from '@fusion-gateway/telemetry'
import { LRUCache } from 'lru-cache'
import { delayRejection, type Payer, type SubjectKind, shares, subjectsOf } from './concurrency.ts'
import type { RedisConnection } from './redis.ts'
import { type Budget, budgetHeaders, type Requested, Reservation } from './reservation.ts'

/** Takes points of all subjects of a payer. Returns the budget that has least left; undefined if none is limited. */
type Pay = (payer: Payer, points: number) => Promise<Budget | undefined>

/** Limits how many points a tenant, a key that has its own limit, and the users of tokens can spend in a minute. */
export interface RateLimit {
  /** Takes the points that an operation may cost; unused ones are given back. Throws as `spend`. */
  reserve(payer: Payer, points: Requested): Promise<Reservation>
  /**
   * Takes nothing if a subject has too few points. With 0 points it only rejects a payer whose budget is overdrawn.
   *
   * @throws GatewayError RATE_LIMITED, after a second, if there are not enough points; TOO_EXPENSIVE if there can never
   *   be enough
   */
  readonly spend: Pay
  /** Takes points for work that is done, even if a subject has too few: then none are left this minute. */
  readonly charge: Pay
}

export const unlimited: RateLimit = {
  spend: async () => undefined,
  charge: async () => undefined,
  reserve: async (_, points) => new Reservation({ ...points, budget: undefined }),
}

/** The part of a tenant's points that all users of its tokens can spend together. The rest is for its own keys. */
const shareOfUsers = 3 / 4

interface RateLimitOptions {
  readonly log: Logger
  /** Points per user and minute, for tokens that are bound to a user; 0 for no limit per user. */
  readonly pointsPerUser?: number
  /** Counts the points of all gateways. Without it, and while it does not answer, each process counts by itself. */
  readonly redis?: RedisConnection | undefined
  /** How many processes this gateway has. A process that counts by itself has its share of the points. */
  readonly processes?: number
  readonly metrics?: Metrics
  /** How long a rejection waits. Without it, a second. */
  readonly rejectionMilliseconds?: number
}

/** Creates the rate limit, of `points` per tenant and minute; 0 for no limit. */
export function createRateLimit(
  points: number,
  { log, pointsPerUser = 0, redis, processes = 1, metrics = createMetrics(), rejectionMilliseconds }: RateLimitOptions,
): RateLimit {
  const takeHere = createMemoryCounter()
  const shared = redis && createRedisCounter(redis)
  let isAlone = false

  const pointsOf: Readonly<Record<SubjectKind, (payer: Payer) => number | undefined>> = {
    tenant: () => points || undefined,
    users: () => (points === 0 ? undefined : Math.ceil(points * shareOfUsers)),
    user: () => pointsPerUser || undefined,
    key: ({ pointsPerMinute }) => pointsPerMinute,
  }

  /** The limited subjects of a payer, the widest first. */
  function limitsOf(payer: Payer): readonly SubjectLimit[] {
    return subjectsOf(payer).flatMap(({ kind, name }) => {
      const limit = pointsOf[kind](payer)
      return limit === undefined ? [] : [{ kind, name, points: limit }]
    })
  }

  /** The limit of a process that counts by itself. */
  const shareOf = (limit: SubjectLimit): SubjectLimit => ({ ...limit, points: Math.ceil(limit.points / processes) })

  async function takeFrom(limits: readonly SubjectLimit[], cost: number, isDone: boolean): Promise<Taken> {
    const takeAlone = () => takeHere(limits.map(shareOf), cost, isDone)
    if (!shared) return takeAlone()
    try {
      const taken = await shared(limits, cost, isDone)
      isAlone = false
      metrics.rateLimitIsAlone.set(0)
      return taken
    } catch (error) {
      if (!isAlone) log.warn({ err: error }, 'Redis does not answer: this process counts points by itself')
      isAlone = true
      metrics.rateLimitIsAlone.set(1)
      return takeAlone()
    }
  }

  async function take(payer: Payer, cost: number, isDone: boolean): Promise<{ budget?: Budget } & GivesBack> {
    const limits = limitsOf(payer)
    if (limits.length === 0) return { giveBack: () => undefined }
    const maximum = Math.min(...(shared ? limits : limits.map(shareOf)).map((limit) => limit.points))
    if (!isDone && cost > maximum) throw tooExpensive(cost, maximum)
    const taken = await takeFrom(limits, cost, isDone)
    const budgets = limits.map(({ kind }, index) => budgetOf(kind, taken.spent[index] as Spent, cost))
    if (taken.isTaken) {
      const budget = budgets.reduce((least, one) => (one.remaining < least.remaining ? one : least))
      return { budget, giveBack: taken.giveBack }
    }
    await delayRejection(rejectionMilliseconds)
    throw new RateLimited(budgets.findLast(({ isShort }) => isShort) as SubjectBudget, cost)
  }

  const pay =
    (isDone: boolean): Pay =>
    async (payer, cost) => {
      const { budget } = await take(payer, cost, isDone)
      metrics.countPoints(payer.keyId, cost)
      return budget
    }

  return {
    spend: pay(false),
    charge: pay(true),
    async reserve(payer, points) {
      const { budget, giveBack } = await take(payer, points.requested, false)
      return new Reservation({
        ...points,
        budget,
        giveBack,
        charge: async (missing, isAnyway) => (await take(payer, missing, isAnyway)).budget,
        onEnd(spent) {
          metrics.countPoints(payer.keyId, spent)
          points.onEnd?.(spent)
        },
      })
    },
  }
}

interface SubjectLimit extends PointLimit {
  readonly kind: SubjectKind
}

interface SubjectBudget extends Budget {
  readonly kind: SubjectKind
  /** Whether it has too few points for what was to be taken. */
  readonly isShort: boolean
}

function budgetOf(kind: SubjectKind, { points, spent, resetMilliseconds }: Spent, cost: number): SubjectBudget {
  const remaining = Math.max(0, points - spent)
  const resetSeconds = Math.max(1, Math.ceil(resetMilliseconds / 1_000))
  return { kind, points, remaining, resetSeconds, isShort: spent + cost > points }
}

/** The rejection of an operation that costs more than is ever allowed. */
export function tooExpensive(cost: number, maximum: number): GatewayError {
  const message = `The operation may cost ${cost} points. At most ${maximum} are allowed.`
  return new GatewayError('TOO_EXPENSIVE', message, { limit: 'operation_cost', details: { cost, maximum } })
}

/** The rejection of an operation of a payer with too few points left. */
class RateLimited extends GatewayError {
  constructor(budget: SubjectBudget, cost: number) {
    const { points: maximum, remaining } = budget
    const { owner } = shares[budget.kind]
    const message =
      cost > 0
        ? `The operation costs more points (${cost}) than ${owner.toLowerCase()} left in this minute (${remaining}).`
        : `${owner} no points left in this minute.`
    super('RATE_LIMITED', message, {
      limit: 'points',
      details: { cost, maximum, remaining },
      headers: { ...budgetHeaders(budget), 'retry-after': String(budget.resetSeconds) },
    })
  }
}

/** How many points a subject has in a window. */
interface PointLimit {
  /** The name of the subject (`subjectsOf`). */
  readonly name: string
  readonly points: number
}

interface Spent extends Pick<PointLimit, 'points'> {
  readonly spent: number
  readonly resetMilliseconds: number
}

interface GivesBack {
  /** Returns points that were taken. Nothing in a later window, which began without them. */
  giveBack(points: number): void
}

/** The result of an attempt to take points. */
interface Taken extends GivesBack {
  /** False if a limit had too few points. None were taken then. */
  readonly isTaken: boolean
  /** Of each limit, in their order. */
  readonly spent: readonly Spent[]
}

/**
 * Takes points of every limit if all have enough left in their windows. Checking and taking are one step, so that
 * rejected requests never change the budget of others, and two gateways never both take the last points.
 *
 * @param isDone whether the work is done already. Its points are taken even if a limit has too few
 */
type PointCounter = (limits: readonly PointLimit[], cost: number, isDone?: boolean) => Promise<Taken>

const windowMilliseconds = 60_000

/** How many limits a process counts at most. */
const maxWindows = 100_000

export function createMemoryCounter(now: () => number = () => performance.now()): PointCounter {
  const windows = new LRUCache<string, { spent: number; readonly endsAt: number }>({ max: maxWindows })

  function windowOf({ name }: PointLimit) {
    const open = windows.get(name)
    return open && now() < open.endsAt ? open : { spent: 0, endsAt: now() + windowMilliseconds }
  }

  return async (limits, cost, isDone = false) => {
    const open = limits.map((limit) => ({ ...limit, window: windowOf(limit) }))
    const isTaken = isDone || open.every(({ points, window }) => window.spent + cost <= points)
    for (const { name, window } of isTaken ? open : []) {
      window.spent += cost
      windows.set(name, window)
    }
    return {
      isTaken,
      spent: open.map(({ points, window }) => ({
        points,
        spent: window.spent,
        resetMilliseconds: window.endsAt - now(),
      })),
      giveBack(points) {
        // A window that has ended is no longer in the map.
        for (const { window } of open) window.spent -= points
      },
    }
  }
}

// Redis runs a script as one step. A window begins when its key does: points that were given back, or a spend of 0,
// can leave 0 in it.
const takeScript = `
  local cost, isTaken, spent = tonumber(ARGV[1]), true, {}
  for index, key in ipairs(KEYS) do
    spent[index] = tonumber(redis.call('GET', key) or '0')
    if spent[index] + cost > tonumber(ARGV[index + 3]) then isTaken = ARGV[3] == 'true' end
  end
  local result = { isTaken and 1 or 0 }
  for index, key in ipairs(KEYS) do
    if isTaken then
      spent[index] = redis.call('INCRBY', key, cost)
      if redis.call('PTTL', key) < 0 then redis.call('PEXPIRE', key, ARGV[2]) end
    end
    table.insert(result, spent[index])
    table.insert(result, redis.call('PTTL', key))
  end
  return result`

// The window of a key ends later than it should if it is another one.
const giveBackScript = `
  for index, key in ipairs(KEYS) do
    local left = redis.call('PTTL', key)
    if left > 0 and left <= tonumber(ARGV[index + 1]) then redis.call('DECRBY', key, ARGV[1]) end
  end`

/**
 * How much later the window of a key may end than this process expects: clocks differ a little. Far less than a window,
 * so that another window is never mistaken for the one from which points were taken.
 */
const toleranceMilliseconds = 1_000

/**
 * Creates a counter that gateways share.
 *
 * @throws Error, from the counter, if Redis does not answer
 */
function createRedisCounter(redis: RedisConnection): PointCounter {
  return async (limits, cost, isDone = false) => {
    const keys = limits.map(({ name }) => `fusion-gateway:rate:${name}`)
    const args = [cost, windowMilliseconds, isDone, ...limits.map(({ points }) => points)].map(String)
    const [isTaken, ...numbers] = await redis.runScript(takeScript, keys, args)
    const takenAt = performance.now()
    const spent = limits.map(({ points }, index) => ({
      points,
      spent: Number(numbers[2 * index]),
      resetMilliseconds: Number(numbers[2 * index + 1]),
    }))
    return {
      isTaken: isTaken === 1,
      spent,
      giveBack(points) {
        const elapsed = performance.now() - takenAt
        const left = spent.map(({ resetMilliseconds }) => resetMilliseconds - elapsed)
        const ends = left.map((milliseconds) =>
          milliseconds > 0 ? Math.ceil(milliseconds) + toleranceMilliseconds : 0,
        )
        // Nobody waits. If Redis does not answer, the points stay spent until the window ends.
        if (ends.some((end) => end > 0)) {
          redis.runScript(giveBackScript, keys, [points, ...ends].map(String)).catch(() => undefined)
        }
      },
    }
  }
}
