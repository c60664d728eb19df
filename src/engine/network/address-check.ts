import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLookup } from './lookup.ts'
import { type AllowedNetworks, createPrivateNetworks } from './private-networks.ts'

const lookupMilliseconds = 1_000
/** Lookups of a tenant at a time. */
const maxLookups = 2

/** Whether a URL of a tenant leads only to addresses to which this process must not connect. */
export type IsBlocked = (tenantAppId: string, url: string) => Promise<boolean>

/**
 * Returns a function that checks a URL before it is stored. It tells clients early what a guarded agent would refuse,
 * and does not replace it: a name that cannot be looked up now passes, and one that passes can lead elsewhere later.
 */
export function createAddressCheck(allowed: AllowedNetworks): IsBlocked {
  const blocked = createPrivateNetworks(allowed)
  const lookup = createLookup()
  const lookups = new Map<string, number>()

  async function addressesOf(tenantAppId: string, host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host]
    const running = lookups.get(tenantAppId) ?? 0
    if (running >= maxLookups) return []
    lookups.set(tenantAppId, running + 1)
    const found = lookup(host).catch(() => [])
    void found.then(() => {
      const left = (lookups.get(tenantAppId) ?? 1) - 1
      if (left > 0) lookups.set(tenantAppId, left)
      else lookups.delete(tenantAppId)
    })
    const timeout = new AbortController()
    const addresses = await Promise.race([
      found,
      sleep(lookupMilliseconds, [], { signal: timeout.signal }).catch(() => []),
    ])
    timeout.abort()
    return addresses.map(({ address }) => address)
  }

  return async (tenantAppId, url) => {
    if (allowed === true) return false
    // Brackets enclose IPv6 addresses.
    const addresses = await addressesOf(tenantAppId, new URL(url).hostname.replace(/^\[|\]$/g, ''))
    return (
      addresses.length > 0 &&
      addresses.every((address) => blocked.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6'))
    )
  }
}
