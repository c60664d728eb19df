import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Config } from '../../config.ts'
import { OperatorError } from '../../engine/errors.ts'

/**
 * Returns the keys that encrypt the secrets of webhooks: those of the configuration. Without any, the embedded database has one in a file
 * beside its own files, which only its owner can read. It is created if missing.
 *
 * @throws OperatorError if the file has no key
 */
export function webhookKeysOf({ webhookKeys, database }: Pick<Config, 'webhookKeys' | 'database'>): readonly Buffer[] {
  if (webhookKeys.length > 0 || database.kind === 'postgresql') return webhookKeys
  if (database.dataDir === 'memory') return [randomBytes(32)]
  const file = path.join(database.dataDir, 'webhook-key')
  const key = Buffer.from(readOrCreate(file), 'base64')
  if (key.length === 32) return [key]
  throw new OperatorError(`The file ${file} has no key. Restore it: the secrets of webhooks are encrypted with it.`)
}

function readOrCreate(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const created = randomBytes(32).toString('base64')
    writeFileSync(file, `${created}\n`, { mode: 0o600, flag: 'wx' })
    return created
  }
}
