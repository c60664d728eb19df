import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AllowedNetworks, createPrivateNetworks } from './private-networks.ts'

const lookupMilliseconds = 1_000
/** Names are looked up by threads that files and compression need too. The process has four of them. */
const maxLookups = 2

/** Whether a URL leads only to addresses to which this process must not connect. */
export type IsBlocked = (url: string) => Promise<boolean>

/**
 * Returns a function that checks a URL before it is stored. It tells clients early what a guarded agent would refuse,
 * and does not replace it: a name that cannot be looked up now passes, and one that passes can lead elsewhere later.
 */
export function createAddressCheck(allowed: AllowedNetworks): IsBlocked {
  const blocked = createPrivateNetworks(allowed)
  let lookups = 0

  async function addressesOf(host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host]
    if (lookups >= maxLookups) return []
    lookups += 1
    const found = lookup(host, { all: true }).catch(() => [])
    void found.then(() => {
      lookups -= 1
    })
    const timeout = new AbortController()
    const addresses = await Promise.race([
      found,
      sleep(lookupMilliseconds, [], { signal: timeout.signal }).catch(() => []),
    ])
    timeout.abort()
    return addresses.map(({ address }) => address)
  }

  return async (url) => {
    if (allowed === true) return false
    // Brackets enclose IPv6 addresses.
    const addresses = await addressesOf(new URL(url).hostname.replace(/^\[|\]$/g, ''))
    return (
      addresses.length > 0 &&
      addresses.every((address) => blocked.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6'))
    )
  }
}
