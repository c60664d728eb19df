import { setTimeout } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'

/** Counts what keys have open at the same time: requests, subscriptions. */
export interface KeySlots {
  /**
   * Takes a slot of a key.
   *
   * @returns releases the slot, once however often it is called
   * @throws GatewayError RATE_LIMITED, after a second, if the key has no slot left. A client that tries again at once would
   *   keep the gateway busy otherwise
   */
  take(keyId: string): (() => void) | Promise<never>
}

const delaySeconds = 1

/**
 * Creates the slots, of which each key has `max`.
 *
 * @param things what the slots are for, in an error: requests, subscriptions
 * @param variable the name of the limit in the configuration
 */
export function createKeySlots(max: number, things: string, variable: string): KeySlots {
  async function reject(): Promise<never> {
    await setTimeout(delaySeconds * 1_000)
    const message = `The key has ${max} ${things}, the most that it may have at a time (${variable}).`
    throw new GatewayError('RATE_LIMITED', message, { headers: { 'retry-after': String(delaySeconds) } })
  }

  const taken = new Map<string, number>()
  return {
    take(keyId) {
      const before = taken.get(keyId) ?? 0
      if (before >= max) return reject()
      taken.set(keyId, before + 1)
      let isTaken = true
      return () => {
        if (!isTaken) return
        isTaken = false
        const left = (taken.get(keyId) ?? 1) - 1
        if (left === 0) taken.delete(keyId)
        else taken.set(keyId, left)
      }
    },
  }
}
