import { BlockList } from 'node:net'

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

/** Creates the list of addresses to which clients must not make this process connect. IPv4-mapped addresses count as IPv4. */
export function createPrivateNetworks(): BlockList {
  const list = new BlockList()
  for (const [network, prefix, family] of privateNetworks) list.addSubnet(network, prefix, family)
  return list
}
