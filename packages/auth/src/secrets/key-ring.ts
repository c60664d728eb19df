import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { GatewayError } from '@fusion-gateway/base'

// Some secrets must be readable: each delivery is signed with that of its webhook, each token with a private key. So
// they are stored encrypted, with a key that is not in the database: a dump of the database alone does not let anybody
// sign.

const algorithm = 'aes-256-gcm'
const ivLength = 12
const tagLength = 16

export type KeyRing = ReturnType<typeof createKeyRing>

/**
 * Creates the encryption of stored secrets: AES-256-GCM.
 *
 * @param keys of 32 bytes. The first one encrypts; the others only decrypt, so that the key can be replaced
 */
export function createKeyRing(keys: readonly [Buffer, ...Buffer[]]) {
  function decryptWith(key: Buffer, stored: Buffer, owner: string): string {
    const decipher = createDecipheriv(algorithm, key, stored.subarray(0, ivLength), { authTagLength: tagLength })
    decipher.setAAD(Buffer.from(owner)).setAuthTag(stored.subarray(ivLength, ivLength + tagLength))
    return Buffer.concat([decipher.update(stored.subarray(ivLength + tagLength)), decipher.final()]).toString()
  }

  /** The position of the key that has encrypted a secret, and the secret; undefined if none of them has. */
  function open(stored: string, owner: string): { readonly position: number; readonly secret: string } | undefined {
    const bytes = Buffer.from(stored, 'base64')
    for (const [position, key] of keys.entries()) {
      try {
        return { position, secret: decryptWith(key, bytes, owner) }
      } catch {
        // The next key may fit.
      }
    }
    return undefined
  }

  return {
    open,
    /** @param owner the row that the secret belongs to: one that is copied to another row cannot be decrypted */
    encrypt(secret: string, owner: string): string {
      const iv = randomBytes(ivLength)
      const cipher = createCipheriv(algorithm, keys[0], iv, { authTagLength: tagLength }).setAAD(Buffer.from(owner))
      const encrypted = Buffer.concat([cipher.update(secret), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64')
    },
    /**
     * @throws GatewayError SERVICE_UNAVAILABLE if none of the keys has encrypted it: another process may have the key
     *   that did
     */
    decrypt(stored: string, owner: string): string {
      const opened = open(stored, owner)
      if (opened) return opened.secret
      throw unreadable('SECRET_KEYS has no key with which it was encrypted')
    },
  }
}

/** The error of a request that needs a secret which this process cannot read. */
export function unreadable(reason: string): GatewayError {
  return new GatewayError('SERVICE_UNAVAILABLE', 'A stored secret cannot be read at the moment.', {
    cause: new Error(reason),
  })
}
