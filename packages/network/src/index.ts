export { createGuardedAgent } from './guarded-agent.ts'
export { createLookup, type Lookup } from './lookup.ts'
export {
  type AllowedNetworks,
  createAddressCheck,
  createPrivateNetworks,
  type IsBlocked,
} from './private-networks.ts'
export { readBytes } from './read-bytes.ts'
export { readRetryAfter } from './retry-after.ts'
