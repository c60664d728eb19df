import { setTimeout } from 'node:timers/promises'
import type { Viewer } from '../auth/viewer.ts'
import { GatewayError } from '../errors.ts'

/** The key, or the user of a token of the key, that takes permits or spends points. */
export type Payer = Pick<Viewer, 'keyId' | 'userId'>

export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>

/** The name under which the use of a user is counted. It differs from the id of every key. */
export function nameOfUser({ keyId, userId }: Payer): string | undefined {
  return userId === undefined ? undefined : JSON.stringify([keyId, userId])
}

const delaySeconds = 1

/**
 * Limits what a key has open at a time, such as requests: each key has `max` permits.
 *
 * @param things what is limited, in the words of an error: requests, subscriptions, MiB of something
 * @param variable the name of the limit in the configuration
 */
export function createConcurrencyLimit(max: number, things: string, variable: string) {
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

  /** Takes permits even if there are too few left. Returns what releases them. */
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
    /**
     * Takes permits of a key. A user has a quarter of the key's at most.
     *
     * @returns a function that releases the permits. Further calls do nothing
     * @throws GatewayError RATE_LIMITED, after a second, if there are too few permits left. A client that tries again at once would
     *   keep the gateway busy otherwise
     */
    take(payer: Payer, count = 1): (() => void) | Promise<never> {
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
