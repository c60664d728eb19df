import type { LookupFunction } from 'node:net'
import { Agent, buildConnector } from 'undici'
import type { Lookup } from './lookup.ts'
import { type AllowedNetworks, createPrivateNetworks } from './private-networks.ts'

export interface GuardedAgentOptions {
  readonly timeoutMilliseconds: number
  /** The networks that are not public to which it may connect. */
  readonly allowPrivateNetworks: AllowedNetworks
  /** Looks up hosts that tenants name. Without it, `dns.lookup` does, for hosts of the operator. */
  readonly lookup?: Lookup | undefined
}

/** Creates an agent that connects only to public addresses, whatever names resolve to: ERR_IP_BLOCKED. */
export function createGuardedAgent(options: GuardedAgentOptions): Agent {
  return new Agent({ connect: createConnector(options) })
}

/**
 * Node checks a block list when it opens a TCP socket, but not when it opens a TLS socket. So the TCP socket is opened
 * first, and TLS is started on it.
 */
function createConnector({ timeoutMilliseconds: timeout, allowPrivateNetworks, lookup }: GuardedAgentOptions) {
  const blockList = createPrivateNetworks(allowPrivateNetworks)
  const openSocket = buildConnector({ timeout, blockList, ...(lookup && { lookup: withCallback(lookup) }) })
  const addTls = buildConnector({ timeout })
  return ((options, callback) => {
    if (options.protocol !== 'https:') return openSocket(options, callback)
    openSocket({ ...options, protocol: 'http:', port: options.port || '443' }, (...[error, httpSocket]) => {
      if (error) callback(error, null)
      else addTls({ ...options, httpSocket }, callback)
    })
  }) satisfies buildConnector.connector
}

/** The lookup as sockets call it. They try the addresses of both families, each after its check. */
function withCallback(lookup: Lookup): LookupFunction {
  return (host, { all }, done) => {
    lookup(host).then(
      (addresses) => (all ? done(null, [...addresses]) : done(null, addresses[0]?.address ?? '', addresses[0]?.family)),
      (error: Error) => done(error, []),
    )
  }
}
