import { readConfig } from '../../config.ts'
import { readStoredSecrets } from '../../domain/secrets/stored-secrets.ts'
import { mayHavePreviousRelease } from '../../engine/db/migrations/contract.ts'
import { OperatorError } from '../../engine/errors.ts'
import type { Io } from '../io.ts'
import { keyRingOf } from '../process/key-ring-of.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export interface SecretsOptions {
  readonly encrypt?: boolean
}

const current = 'key 1'

const contractFirst =
  'Private keys stay unencrypted while gateways of the previous version can read them. See: npm run fusion -- migrate contract\n'

export function verifySecrets(io: Io, { encrypt = false }: SecretsOptions): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const keyRing = keyRingOf(readConfig(io.env))
    if (encrypt && !keyRing) throw new OperatorError('There is no key: set SECRET_KEYS. See: openssl rand -base64 32')
    const staysPlain = await mayHavePreviousRelease(database.sql)
    const counts = new Map<string, number>()
    for await (const { kind, storage, encrypt: encryptIt } of readStoredSecrets(database, keyRing)) {
      const staysSo = storage === current || (storage === 'unencrypted' && staysPlain)
      const isEncryptedNow = encrypt && keyRing && encryptIt && !staysSo
      if (isEncryptedNow) await encryptIt(keyRing)
      const entry = `${kind}\t${isEncryptedNow ? current : storage}`
      counts.set(entry, (counts.get(entry) ?? 0) + 1)
    }
    const rows = [...counts].map(([entry, count]) => [...entry.split('\t'), String(count)])
    printTable(io.stdout, ['SECRET', 'STORED WITH', 'COUNT'], rows)
    if (rows.some(([, storage]) => storage !== current)) io.exitCode = 1
    if (encrypt && staysPlain && rows.some(([, storage]) => storage === 'unencrypted')) io.stderr.write(contractFirst)
  })
}
