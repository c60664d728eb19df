export { createValidKeys, generateApiKey, hashApiKey, isWellFormedApiKey, type ValidKeys } from './api-keys.ts'
export { type Authenticator, createAuthenticator, isRefusal, watchCredential } from './authenticator.ts'
export { createKeyRing, type KeyRing } from './secrets/key-ring.ts'
export { type AccessTokens, createAccessTokens, maxLifetimeSeconds } from './tokens/access-tokens.ts'
export type { IssuerKeysOptions } from './tokens/issuer-keys.ts'
export { createSigningKeys, pairOwnerOf, rotateSigningKey, type StoredKey, sealKey } from './tokens/signing-keys.ts'
export { createTokenVerifier } from './tokens/token-verifier.ts'
export type { TrustedIssuer } from './tokens/trusted-issuers.ts'

/** Trusted issuers are loaded only where there are some. */
export const loadTrustedIssuers = () => import('./tokens/trusted-issuers.ts')
export { holderOf, type Viewer } from './viewer.ts'
