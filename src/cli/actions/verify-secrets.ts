import { readConfig } from '../../config.ts'
import { readStoredSecrets } from '../../domain/secrets/stored-secrets.ts'
import { OperatorError } from '../../engine/errors.ts'
import type { Io } from '../io.ts'
import { keyRingOf } from '../process/key-ring-of.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export interface SecretsOptions {
  readonly encrypt?: boolean
}

const current = 'key 1'

export function verifySecrets(io: Io, { encrypt = false }: SecretsOptions): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const keyRing = keyRingOf(readConfig(io.env))
    if (encrypt && !keyRing) throw new OperatorError('There is no key: set SECRET_KEYS. See: openssl rand -base64 32')
    const counts = new Map<string, number>()
    for await (const { kind, storage, encrypt: encryptIt } of readStoredSecrets(database, keyRing)) {
      const isEncryptedNow = encrypt && keyRing && encryptIt && storage !== current
      if (isEncryptedNow) await encryptIt(keyRing)
      const entry = `${kind}\t${isEncryptedNow ? current : storage}`
      counts.set(entry, (counts.get(entry) ?? 0) + 1)
    }
    const rows = [...counts].map(([entry, count]) => [...entry.split('\t'), String(count)])
    printTable(io.stdout, ['SECRET', 'STORED WITH', 'COUNT'], rows)
    if (rows.some(([, storage]) => storage !== current)) io.exitCode = 1
  })
}
