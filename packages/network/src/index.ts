export { createLookup, type Lookup } from './lookup.ts'
export {
  type AllowedNetworks,
  createAddressCheck,
  createPrivateNetworks,
  type IsBlocked,
} from './private-networks.ts'
export { readBytes } from './read-bytes.ts'
export { readRetryAfter } from './retry-after.ts'

/** The agent, and undici with it, is loaded only where requests are sent. */
export const loadGuardedAgent = () => import('./guarded-agent.ts')
