import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** The largest rate limit that a key can have of its own. */
export const maxPointsPerMinute = 2_147_483_647

export const keyPrefix = 'fus_'
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 43
const checksumLength = 6
const pattern = new RegExp(`^${keyPrefix}[0-9A-Za-z]{${secretLength + checksumLength}}$`)

/**
 * Generates a key: `fus_`, 32 random bytes in base62 (43 characters), and the CRC-32 of both in base62 (6 characters).
 * With the prefix a scanner finds leaked keys, and with the checksum the gateway rejects mistyped keys without a
 * statement.
 */
export function generateApiKey(): string {
  const body = keyPrefix + toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength)
  return body + checksum(body)
}

/** Whether the text has the alphabet, the length and the checksum of a key. */
export function isWellFormedApiKey(text: string): boolean {
  return pattern.test(text) && text.endsWith(checksum(text.slice(0, -checksumLength)))
}

/** The SHA-256 of a key in hexadecimal, which the database stores. A key has 256 random bits, so it needs no salt. */
export function hashApiKey(key: string): string {
  return hash('sha256', key)
}

function checksum(body: string): string {
  return toBase62(BigInt(crc32(body)), checksumLength)
}

function toBase62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = digits[Number(rest % 62n)] + text
  return text.padStart(length, '0')
}
