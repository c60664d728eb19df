import { randomBytes } from 'node:crypto'

/** The prefix of a secret, as the Standard Webhooks specification has it. */
export const secretPrefix = 'whsec_'

/** A new secret: `whsec_` and 32 random bytes in base64. */
export function generateSecret(): string {
  return secretPrefix + randomBytes(32).toString('base64')
}

/** The name of a webhook for the key ring, which encrypts its secrets. */
export function secretOwnerOf({ tenantAppId, id }: { readonly tenantAppId: string; readonly id: string }): string {
  return `${tenantAppId} ${id}`
}
