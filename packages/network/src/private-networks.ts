import { BlockList, isIP, type SocketAddress } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseNetwork } from '@fusion-gateway/base'
import { createLookup } from './lookup.ts'

/** The networks that are not public: IANA's special-purpose registries, and IPv6 forms of IPv4 addresses. */
const privateNetworks: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'], // this network
  ['10.0.0.0', 8, 'ipv4'], // private
  ['100.64.0.0', 10, 'ipv4'], // shared address space of providers
  ['127.0.0.0', 8, 'ipv4'], // loopback
  ['168.63.129.16', 32, 'ipv4'], // Azure's services for its machines
  ['169.254.0.0', 16, 'ipv4'], // link-local, where clouds keep their metadata
  ['172.16.0.0', 12, 'ipv4'], // private
  ['192.0.0.0', 24, 'ipv4'], // protocol assignments
  ['192.0.2.0', 24, 'ipv4'], // documentation
  ['192.88.99.0', 24, 'ipv4'], // 6to4 relays
  ['192.168.0.0', 16, 'ipv4'], // private
  ['198.18.0.0', 15, 'ipv4'], // benchmarks
  ['198.51.100.0', 24, 'ipv4'], // documentation
  ['203.0.113.0', 24, 'ipv4'], // documentation
  ['224.0.0.0', 4, 'ipv4'], // multicast
  ['240.0.0.0', 4, 'ipv4'], // reserved, broadcast
  ['::', 96, 'ipv6'], // unspecified, loopback, IPv4-compatible
  ['64:ff9b::', 96, 'ipv6'], // NAT64
  ['64:ff9b:1::', 48, 'ipv6'], // NAT64, local
  ['::ffff:0:0:0', 96, 'ipv6'], // IPv4-translated
  ['100::', 64, 'ipv6'], // discard
  ['100:0:0:1::', 64, 'ipv6'], // dummy
  ['2001::', 23, 'ipv6'], // protocol assignments, Teredo
  ['2001:db8::', 32, 'ipv6'], // documentation
  ['2002::', 16, 'ipv6'], // 6to4
  ['3fff::', 20, 'ipv6'], // documentation
  ['5f00::', 16, 'ipv6'], // segment routing
  ['fc00::', 7, 'ipv6'], // private
  ['fe80::', 10, 'ipv6'], // link-local
  ['fec0::', 10, 'ipv6'], // site-local
  ['ff00::', 8, 'ipv6'], // multicast
]

/** The networks that clients may make this process connect to: all, none, or a list such as `10.20.0.0/16`. */
export type AllowedNetworks = boolean | readonly string[]

/**
 * Creates the list of addresses to which clients must not make this process connect. IPv4-mapped addresses count as
 * IPv4.
 *
 * @param allowed the networks that the list leaves out
 */
export function createPrivateNetworks(allowed: AllowedNetworks = false): BlockList {
  const list = Array.isArray(allowed) ? new ListWithExceptions(allowed) : new BlockList()
  if (allowed === true) return list
  for (const [network, prefix, family] of privateNetworks) list.addSubnet(network, prefix, family)
  return list
}

/** Node has no exceptions from a block list. It calls `check` for each address to which a socket connects. */
class ListWithExceptions extends BlockList {
  readonly #exceptions = new BlockList()

  constructor(networks: readonly string[]) {
    super()
    for (const text of networks) {
      const { address, prefix, family } = parseNetwork(text) ?? {}
      if (address === undefined || prefix === undefined || family === undefined)
        throw new Error(`${text} is not a network`)
      this.#exceptions.addSubnet(address, prefix, family)
    }
  }

  override check(address: string | SocketAddress, family?: 'ipv4' | 'ipv6'): boolean {
    const { address: text, family: version } = typeof address === 'string' ? { address, family } : address
    return !this.#exceptions.check(text, version) && super.check(text, version)
  }
}

const lookupMilliseconds = 1_000
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
