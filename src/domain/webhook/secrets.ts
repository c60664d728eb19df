import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { GatewayError } from '../../engine/errors.ts'

// A secret must be readable, because each delivery is signed with it. So it is stored encrypted, with a key that is not in the database: a
// dump of the database alone does not let anybody sign.

const algorithm = 'aes-256-gcm'
const ivLength = 12
const tagLength = 16

/** The prefix of a secret, as the Standard Webhooks specification has it. */
export const secretPrefix = 'whsec_'

/** The row that a secret belongs to. A secret that is copied to another row cannot be decrypted. */
interface SecretOwner {
  readonly tenantAppId: string
  readonly id: string
}

export type Secrets = ReturnType<typeof createSecrets>

/** A new secret: `whsec_` and 32 random bytes in base64. */
export function generateSecret(): string {
  return secretPrefix + randomBytes(32).toString('base64')
}

/**
 * Creates the encryption of the secrets of webhooks: AES-256-GCM.
 *
 * @param keys of 32 bytes. The first one encrypts; the others only decrypt, so that the key can be replaced
 */
export function createSecrets(keys: readonly [Buffer, ...Buffer[]]) {
  function decryptWith(key: Buffer, stored: Buffer, owner: SecretOwner): string {
    const decipher = createDecipheriv(algorithm, key, stored.subarray(0, ivLength), { authTagLength: tagLength })
    decipher.setAAD(aadOf(owner)).setAuthTag(stored.subarray(ivLength, ivLength + tagLength))
    return Buffer.concat([decipher.update(stored.subarray(ivLength + tagLength)), decipher.final()]).toString()
  }

  return {
    encrypt(secret: string, owner: SecretOwner): string {
      const iv = randomBytes(ivLength)
      const cipher = createCipheriv(algorithm, keys[0], iv, { authTagLength: tagLength }).setAAD(aadOf(owner))
      const encrypted = Buffer.concat([cipher.update(secret), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64')
    },
    /** @throws GatewayError SERVICE_UNAVAILABLE if none of the keys has encrypted it: another process may have the key that did */
    decrypt(stored: string, owner: SecretOwner): string {
      const bytes = Buffer.from(stored, 'base64')
      for (const key of keys) {
        try {
          return decryptWith(key, bytes, owner)
        } catch {
          // The next key may fit.
        }
      }
      const cause = new Error('WEBHOOK_SECRET_KEY is not the key with which the secret was encrypted')
      throw new GatewayError('SERVICE_UNAVAILABLE', 'The secret of the webhook cannot be read at the moment.', {
        cause,
      })
    },
  }
}

function aadOf({ tenantAppId, id }: SecretOwner): Buffer {
  return Buffer.from(`${tenantAppId} ${id}`)
}
