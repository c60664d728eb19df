import { setTimeout } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'
import type { LimitName } from '../limit-names.ts'
import { type Payer, type SubjectKind, subjectsOf } from './payer.ts'

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

/** Waits before a rejection is sent: a client that tries again at once would keep the gateway busy otherwise. */
export const delayRejection = (): Promise<void> => setTimeout(delaySeconds * 1_000)

/**
 * Limits what a tenant, a key, and the users of tokens have open at a time, such as requests.
 *
 * @param limit its name in the log and in metrics
 * @param max how many permits a key has
 * @param plural what is limited, in the words of an error: requests, subscriptions, MiB of something
 */
export function createConcurrencyLimit(limit: LimitName, max: number, plural: string) {
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
    await delayRejection()
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
    /**
     * Takes permits.
     *
     * @returns a function that releases the permits. Further calls do nothing
     * @throws GatewayError RATE_LIMITED, after a second, if there are too few permits left
     */
    take(payer: Payer, count = 1): (() => void) | Promise<never> {
      const full = findFull(payer, count)
      return full ? reject(full) : hold(payer, count)
    },

    /**
     * Takes nothing, but rejects a payer who holds more permits than there are.
     *
     * @throws GatewayError RATE_LIMITED, after a second
     */
    check(payer: Payer): undefined | Promise<never> {
      const full = findFull(payer, 0)
      return full && reject(full)
    },

    hold,
  }
}
