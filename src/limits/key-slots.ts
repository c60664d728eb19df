import { setTimeout } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'

/** Counts what keys have open at the same time: requests, subscriptions, MiB of answers. */
export interface KeySlots {
  /**
   * Takes slots of a key, one by default.
   *
   * @returns releases the slots, once however often it is called
   * @throws GatewayError RATE_LIMITED, after a second, if the key has too few slots left. A client that tries again at once would
   *   keep the gateway busy otherwise
   */
  take(keyId: string, count?: number): (() => void) | Promise<never>
  /** Takes slots of a key even if it has too few left. Returns what releases them. */
  hold(keyId: string, count: number): () => void
}

const delaySeconds = 1

/**
 * Creates the slots, of which each key has `max`.
 *
 * @param things what the slots are for, in an error: requests, subscriptions, MiB of something
 * @param variable the name of the limit in the configuration
 */
export function createKeySlots(max: number, things: string, variable: string): KeySlots {
  async function reject(): Promise<never> {
    await setTimeout(delaySeconds * 1_000)
    const message = `The key has ${max} ${things}, the most that it may have at a time (${variable}).`
    throw new GatewayError('RATE_LIMITED', message, { headers: { 'retry-after': String(delaySeconds) } })
  }

  const taken = new Map<string, number>()

  function hold(keyId: string, count: number): () => void {
    taken.set(keyId, (taken.get(keyId) ?? 0) + count)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      const left = (taken.get(keyId) ?? count) - count
      if (left === 0) taken.delete(keyId)
      else taken.set(keyId, left)
    }
  }

  return {
    take: (keyId, count = 1) => ((taken.get(keyId) ?? 0) + count > max ? reject() : hold(keyId, count)),
    hold,
  }
}
