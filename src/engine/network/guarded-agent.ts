import { Agent, buildConnector } from 'undici'
import { type AllowedNetworks, createPrivateNetworks } from './private-networks.ts'

export interface GuardedAgentOptions {
  /** How long connecting may take. */
  readonly timeoutMilliseconds: number
  /** The networks that are not public to which it may connect. */
  readonly allowPrivateNetworks: AllowedNetworks
}

/**
 * Creates an agent that connects only to public addresses. Each address is checked when the socket connects to it, so
 * names that resolve to private addresses, and redirects to them, are rejected with the error code ERR_IP_BLOCKED.
 */
export function createGuardedAgent(options: GuardedAgentOptions): Agent {
  return new Agent({ connect: createConnector(options) })
}

/**
 * Node checks a block list when it opens a TCP socket, but not when it opens a TLS socket. So the TCP socket is opened
 * first, and TLS is started on it.
 */
function createConnector({ timeoutMilliseconds: timeout, allowPrivateNetworks }: GuardedAgentOptions) {
  const openSocket = buildConnector({ timeout, blockList: createPrivateNetworks(allowPrivateNetworks) })
  const addTls = buildConnector({ timeout })
  return ((options, callback) => {
    if (options.protocol !== 'https:') return openSocket(options, callback)
    openSocket({ ...options, protocol: 'http:', port: options.port || '443' }, (...[error, httpSocket]) => {
      if (error) callback(error, null)
      else addTls({ ...options, httpSocket }, callback)
    })
  }) satisfies buildConnector.connector
}
