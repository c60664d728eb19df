import { hash } from 'node:crypto'
import { createAlarm, GatewayError } from '@fusion-gateway/base'
import type { ExecutionResult } from 'graphql'
import { lengthOf } from '../operation/admit.ts'
import { Interruption } from '../subscription-values.ts'
import { type PatchOperation, patchOf } from './patch.ts'

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
  /** Before this time of `performance.now()`, who gets it gets no other one. */
  readonly until: number
  /**
   * Returns the patch that makes its data from those of another version, computed once for all who ask.
   *
   * @param sent the hash of the other version
   * @returns undefined if that is not the version before it, one of both is long or has errors, or the patch is not
   *   shorter than the data
   */
  patch(sent: string | undefined): readonly PatchOperation[] | undefined
}

/** Somebody who follows a live query. */
export interface LiveFollower {
  /** Whose points it spends: followers with the same id run out of them together. */
  readonly payerId: string
  /** Called when there is another version, or the query has failed. */
  wake(): void
}

/** What an evaluation returns. */
export interface Evaluation {
  readonly result: ExecutionResult
  /** Whether nothing changes any more. */
  readonly isLast: boolean
  /** How long its payer pays for no other one, in milliseconds: the points of the minute are nearly spent. */
  readonly rest: number
}

/** Data above this length as JSON, in characters, is not kept to be compared with the next one. */
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
  /** Who has begun to follow it since the last read, and does not wait as those do who have a result. */
  readonly #newcomers = new Set<Follower>()
  #wasInterrupted = false
  /** The data of the last result, if they are short. */
  #kept: Kept | undefined
  /** Until when those rest who have no points for a read, as times of `performance.now()`, by `payerId`. */
  readonly #resting = new Map<string, number>()
  readonly #alarm = createAlarm()
  readonly #throttle: number
  readonly #evaluate: (follower: Follower) => Promise<Evaluation>
  readonly #onEnd: () => void

  /**
   * @param throttle the least time between two results that a follower gets, in milliseconds
   * @param evaluate reads the result, at the cost of a follower
   * @param onEnd called when nobody follows it any more, or it has failed
   */
  constructor(throttle: number, evaluate: (follower: Follower) => Promise<Evaluation>, onEnd: () => void) {
    this.#throttle = throttle
    this.#evaluate = evaluate
    this.#onEnd = onEnd
  }

  /** Notes that its result can have changed. */
  outdate(): void {
    this.#isOutdated = true
    this.#alarm.ring()
  }

  /** The number of the first read that shows what is written now. */
  get nextRead(): number {
    return this.#isOutdated ? this.begun + 1 : this.begun
  }

  /** Reads it from now on, while anybody follows it: if it is outdated, for a new follower at once, at its cost. */
  start(follower: Follower): void {
    if (this.#isOutdated) this.#newcomers.add(follower)
    if (this.#isRunning) this.#alarm.ring()
    else void this.#run()
  }

  remove(follower: Follower): void {
    this.#newcomers.delete(follower)
    if (!this.followers.delete(follower) || this.followers.size > 0 || this.failure) return
    this.#alarm.ring()
    this.#onEnd()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    let until = 0
    while (this.followers.size > 0 && !this.failure) {
      const now = performance.now()
      const payer = this.#isOutdated ? this.#findPayer(now, until <= now) : undefined
      if (payer) until = await this.#read(payer)
      else if (!this.#isOutdated) await this.#alarm.wait(maxWait)
      else await this.#alarm.wait((until > now ? until : Math.min(...this.#resting.values())) - now)
    }
    this.#isRunning = false
  }

  /**
   * Who pays for the next read: a newcomer, or of the others the one that has paid longest ago.
   *
   * @param isDue whether those may have another result that have one
   * @returns undefined if all rest
   */
  #findPayer(now: number, isDue: boolean): Follower | undefined {
    for (const [payerId, until] of this.#resting) if (until <= now) this.#resting.delete(payerId)
    for (const follower of this.#newcomers) if (!this.#resting.has(follower.payerId)) return follower
    if (isDue) for (const follower of this.followers) if (!this.#resting.has(follower.payerId)) return follower
    return undefined
  }

  /** Reads the result. Returns until when it is not read for the same followers, as a time of `performance.now()`. */
  async #read(payer: Follower): Promise<number> {
    const until = performance.now() + this.#throttle
    this.#newcomers.clear()
    this.followers.delete(payer)
    this.followers.add(payer)
    this.begun += 1
    this.#isOutdated = false
    try {
      const { result, isLast, rest } = await this.#evaluate(payer)
      this.#rest(payer, rest)
      this.#show({ result, isLast, payer, until })
      this.ended = this.begun
      this.#wasInterrupted = false
      return until
    } catch (error) {
      this.#isOutdated = true
      this.#failUnlessTemporary(error, payer)
      return 0
    } finally {
      for (const follower of this.followers) follower.wake()
    }
  }

  #rest(payer: Follower, milliseconds: number): void {
    if (milliseconds > 0) this.#resting.set(payer.payerId, performance.now() + milliseconds)
  }

  /** Ends it after an error, unless another read may succeed: at the cost of another key, or later. */
  #failUnlessTemporary(error: unknown, payer: Follower): void {
    const wait = waitOf(error)
    if (wait !== undefined) {
      this.#rest(payer, wait)
      // Those who wait for the first result are told at once.
      if (!this.version && !this.#findPayer(performance.now(), true)) this.fail(error)
    } else if (error instanceof Interruption && !this.#wasInterrupted) {
      // A row can have been deleted between two statements of the read. Then the next read succeeds.
      this.#wasInterrupted = true
    } else if (this.followers.has(payer)) {
      // Otherwise the client that pays has gone, and another one pays.
      this.fail(error)
    }
  }

  /** Ends it for all who follow it. */
  fail(error: unknown): void {
    if (this.failure || this.followers.size === 0) return
    this.failure = { error }
    this.#alarm.ring()
    for (const follower of this.followers) follower.wake()
    this.#onEnd()
  }

  #show(read: Pick<Version, 'result' | 'isLast' | 'payer' | 'until'>): void {
    const { isLast } = read
    const { data, errors } = read.result
    const shown = errors ? [data, errors] : data
    const text = JSON.stringify(shown)
    const found = hash('sha256', text, 'base64')
    const { version } = this
    if (version?.hash === found && version.isLast === isLast) return
    const kept = errors || text.length > maxKept ? undefined : { hash: found, data, length: text.length }
    const patch = createPatch(this.#kept, kept)
    this.version = { ...read, length: lengthOf(shown), hash: found, patch }
    this.#kept = kept
  }
}

/** Data of a version, which are compared with those of the next one. */
interface Kept {
  readonly hash: string
  readonly data: unknown
  /** The length of the data as JSON. */
  readonly length: number
}

/** Creates the function that computes a patch when it is first asked for. It keeps both data, and no version. */
function createPatch(before: Kept | undefined, after: Kept | undefined): Version['patch'] {
  let made: { readonly patch: readonly PatchOperation[] | undefined } | undefined
  return (sent) => {
    if (!before || !after || before.hash !== sent) return undefined
    if (!made) {
      const patch = patchOf(before.data, after.data)
      made = { patch: JSON.stringify(patch).length < after.length ? patch : undefined }
    }
    return made.patch
  }
}

/** Longer than any wait, in milliseconds: timers take 32 bits. */
export const maxWait = 2 ** 31 - 1

/** How long to wait after an error, in milliseconds, if the same may succeed then: there are too few points. */
export function waitOf(error: unknown): number | undefined {
  if (!(error instanceof GatewayError) || error.code !== 'RATE_LIMITED') return undefined
  const seconds = Number(error.headers['retry-after'])
  return Number.isNaN(seconds) ? undefined : seconds * 1_000
}
