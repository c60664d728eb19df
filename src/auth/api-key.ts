import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const prefix = 'fus_'
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 43
const checksumLength = 6
const pattern = new RegExp(`^${prefix}[0-9A-Za-z]{${secretLength + checksumLength}}$`)

/**
 * A new key: `fus_`, 32 random bytes in base62 (43 characters), and the CRC-32 of all that in base62 (6 characters).
 * The prefix lets a scanner find a leaked key, the checksum lets the gateway turn down a mistyped one without a query.
 */
export function generateApiKey(): string {
  const body = prefix + toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength)
  return body + checksum(body)
}

/** Whether the text is a key at all: right alphabet, right length, right checksum. */
export function isWellFormedApiKey(text: string): boolean {
  return pattern.test(text) && text.endsWith(checksum(text.slice(0, -checksumLength)))
}

/** What is stored of a key: its SHA-256, hexadecimal. A key has 256 random bits, so no salt and no slow hash is needed. */
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
