import { hash } from 'node:crypto'
import { createAlarm, GatewayError } from '@fusion-gateway/base'
import type { ExecutionResult } from 'graphql'
import { lengthOf } from '../operation/admit.ts'
import { Interruption } from '../subscription-values.ts'

/** A result of a live query. */
export interface Version {
  readonly result: ExecutionResult
  /** Whether no other one follows. */
  readonly isLast: boolean
  /** Its length as JSON, about, in characters. */
  readonly length: number
  /** Versions with the same hash are equal. */
  readonly hash: string
  /** Who has paid for the read. */
  readonly payer: LiveFollower
  /** The version before it, and what is different, if both are short. */
  readonly before: { readonly hash: string; readonly data: unknown } | undefined
}

/** Somebody who follows a live query. */
export interface LiveFollower {
  /** Called when there is another version, or the query has failed. */
  wake(): void
}

/** What an evaluation returns. */
export interface Evaluation {
  readonly result: ExecutionResult
  /** Whether nothing changes any more. */
  readonly isLast: boolean
  /** How long the query is not read again, in milliseconds: the points of the minute are nearly spent. */
  readonly rest: number
}

/** Data above this length, in characters, is not kept to be compared with the next one. */
const maxKept = 64 * 1024

/**
 * A query that is read again whenever something has changed that its result depends on, once for all who follow it.
 *
 * A change is never lost: it is noted before a read begins, and what is noted while one runs leads to another.
 */
export class LiveQuery<Follower extends LiveFollower> {
  readonly followers = new Set<Follower>()
  /** The last result. */
  version: Version | undefined
  /** Why it is no longer read. */
  failure: { readonly error: unknown } | undefined
  /** How many reads have begun, and have ended. */
  begun = 0
  ended = 0
  #isOutdated = true
  #isRunning = false
  #wasInterrupted = false
  readonly #alarm = createAlarm()
  readonly #throttle: number
  readonly #evaluate: (follower: Follower) => Promise<Evaluation>
  readonly #onEnd: () => void

  /**
   * @param throttle the least time between two reads, in milliseconds
   * @param evaluate reads the result, at the cost of a follower
   * @param onEnd called when nobody follows it any more, or it has failed
   */
  constructor(throttle: number, evaluate: (follower: Follower) => Promise<Evaluation>, onEnd: () => void) {
    this.#throttle = throttle
    this.#evaluate = evaluate
    this.#onEnd = onEnd
  }

  /** Notes that its result can be another one now. */
  outdate(): void {
    this.#isOutdated = true
    this.#alarm.ring()
  }

  /** The number of the first read that shows what is written now. */
  get nextRead(): number {
    return this.#isOutdated ? this.begun + 1 : this.begun
  }

  /** Reads it from now on, while anybody follows it. */
  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#run()
  }

  remove(follower: Follower): void {
    if (!this.followers.delete(follower) || this.followers.size > 0 || this.failure) return
    this.#alarm.ring()
    this.#onEnd()
  }

  async #run(): Promise<void> {
    let restsUntil = 0
    while (this.followers.size > 0 && !this.failure) {
      const rest = restsUntil - performance.now()
      if (!this.#isOutdated) await this.#alarm.wait(maxWait)
      else if (rest > 0) await this.#alarm.wait(rest)
      else {
        const startedAt = performance.now()
        restsUntil = startedAt + Math.max(this.#throttle, await this.#read())
      }
    }
    this.#isRunning = false
  }

  /** Reads the result. Returns how long it is not read again, in milliseconds. */
  async #read(): Promise<number> {
    // The one who has paid longest ago pays.
    const [payer] = this.followers
    if (!payer) return 0
    this.followers.delete(payer)
    this.followers.add(payer)
    this.begun += 1
    this.#isOutdated = false
    try {
      const { result, isLast, rest } = await this.#evaluate(payer)
      this.#show(result, isLast, payer)
      this.ended = this.begun
      this.#wasInterrupted = false
      return rest
    } catch (error) {
      this.#isOutdated = true
      // Those who wait for the first result are told at once.
      const wait = this.version && waitOf(error)
      if (wait !== undefined) return wait
      // A row can have been deleted between two statements of the read. Then the next read succeeds.
      if (error instanceof Interruption && !this.#wasInterrupted) {
        this.#wasInterrupted = true
        return 0
      }
      // The client that pays may have gone: then another one pays.
      if (this.followers.has(payer)) this.fail(error)
      return 0
    } finally {
      for (const follower of this.followers) follower.wake()
    }
  }

  /** Ends it for all who follow it. */
  fail(error: unknown): void {
    this.failure = { error }
    this.#alarm.ring()
    for (const follower of this.followers) follower.wake()
    this.#onEnd()
  }

  #show(result: ExecutionResult, isLast: boolean, payer: Follower): void {
    const { data, errors } = result
    const text = JSON.stringify([data, errors])
    const found = hash('sha256', text, 'base64')
    const { version } = this
    if (version?.hash === found && version.isLast === isLast) return
    const length = lengthOf(errors ? [data, errors] : data)
    const isShort = version && Math.max(version.length, length) <= maxKept && !errors && !version.result.errors
    const before = isShort ? { hash: version.hash, data: version.result.data } : undefined
    this.version = { result, isLast, payer, length, hash: found, before }
  }
}

/** Longer than any wait: timers take 32 bits. */
const maxWait = 2 ** 31 - 1

/** How long to wait after an error, in milliseconds, if the same may succeed then: there are too few points. */
export function waitOf(error: unknown): number | undefined {
  if (!(error instanceof GatewayError) || error.code !== 'RATE_LIMITED') return undefined
  const seconds = Number(error.headers['retry-after'])
  return Number.isNaN(seconds) ? undefined : seconds * 1_000
}
