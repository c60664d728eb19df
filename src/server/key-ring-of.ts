import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createKeyRing, type KeyRing } from '@fusion-gateway/auth'
import { OperatorError } from '@fusion-gateway/base'
import type { Config } from '../config.ts'

/** Returns the key ring of the configuration: see {@link secretKeysOf}. Undefined if there is no key. */
export function keyRingOf(config: Pick<Config, 'secretKeys' | 'database'>): KeyRing | undefined {
  const [key, ...olderKeys] = secretKeysOf(config)
  return key && createKeyRing([key, ...olderKeys])
}

/**
 * Returns the keys that encrypt stored secrets: those of the configuration. Without any, the embedded database has one
 * in a file beside its own files, which only its owner can read. It is created if missing.
 *
 * @throws OperatorError if the file has no key
 */
function secretKeysOf({ secretKeys, database }: Pick<Config, 'secretKeys' | 'database'>): readonly Buffer[] {
  if (secretKeys.length > 0 || database.kind === 'postgresql') return secretKeys
  if (database.dataDir === 'memory') return [randomBytes(32)]
  // Its name is from the time when it encrypted the secrets of webhooks alone.
  const file = path.join(database.dataDir, 'webhook-key')
  const key = Buffer.from(readOrCreate(file), 'base64')
  if (key.length === 32) return [key]
  throw new OperatorError(`The file ${file} has no key. Restore it: stored secrets are encrypted with it.`)
}

function readOrCreate(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const created = randomBytes(32).toString('base64')
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, `${created}\n`, { mode: 0o600, flag: 'wx' })
    return created
  }
}
