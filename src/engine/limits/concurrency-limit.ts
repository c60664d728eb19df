import { setTimeout } from 'node:timers/promises'
import type { Viewer } from '../auth/viewer.ts'
import { GatewayError } from '../errors.ts'

/** The key, or the user of a token of the key, that takes permits or spends points. */
export type Payer = Pick<Viewer, 'keyId' | 'userId'>

/** Limits how much a key has open at a time: requests, subscriptions, MiB of responses. */
export interface ConcurrencyLimit {
  /**
   * Takes permits of a key, one by default. A user can take at most a quarter of the key's permits.
   *
   * @returns a function that releases the permits. Further calls do nothing
   * @throws GatewayError RATE_LIMITED, after a second, if there are too few permits left. The delay keeps clients that try again at
   *   once from occupying the gateway
   */
  take(payer: Payer, count?: number): (() => void) | Promise<never>
  /** Takes permits even if there are too few left. Returns a function that releases them. */
  hold(payer: Payer, count: number): () => void
}

/** The name under which the use of a user is counted. It differs from the id of every key. */
export function nameOfUser({ keyId, userId }: Payer): string | undefined {
  return userId === undefined ? undefined : JSON.stringify([keyId, userId])
}

const delaySeconds = 1

/**
 * Creates a concurrency limit: each key has `max` permits.
 *
 * @param things what is limited, in the words of an error: requests, subscriptions, MiB of something
 * @param variable the name of the limit in the configuration
 */
export function createConcurrencyLimit(max: number, things: string, variable: string): ConcurrencyLimit {
  const maxOfUser = Math.ceil(max / 4)

  async function reject(message: string): Promise<never> {
    await setTimeout(delaySeconds * 1_000)
    throw new GatewayError('RATE_LIMITED', message, { headers: { 'retry-after': String(delaySeconds) } })
  }

  const taken = new Map<string, number>()

  const takenBy = (name: string) => taken.get(name) ?? 0

  function add(name: string | undefined, count: number): void {
    if (name === undefined) return
    const sum = takenBy(name) + count
    if (sum === 0) taken.delete(name)
    else taken.set(name, sum)
  }

  function hold(payer: Payer, count: number): () => void {
    const user = nameOfUser(payer)
    add(payer.keyId, count)
    add(user, count)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      add(payer.keyId, -count)
      add(user, -count)
    }
  }

  return {
    take(payer, count = 1) {
      const user = nameOfUser(payer)
      if (user !== undefined && takenBy(user) + count > maxOfUser) {
        return reject(
          `The user has ${maxOfUser} ${things}, the most at a time: a quarter of those of the key (${variable}).`,
        )
      }
      if (takenBy(payer.keyId) + count <= max) return hold(payer, count)
      return reject(`The key has ${max} ${things}, the most that it may have at a time (${variable}).`)
    },
    hold,
  }
}
