import { readConfig } from '../../config.ts'
import { listSigningKeys, rotateSigningKey } from '../../engine/auth/tokens/signing-keys.ts'
import { mayHavePreviousRelease } from '../../engine/db/migrations/contract.ts'
import type { Io } from '../io.ts'
import { keyRingOf } from '../process/key-ring-of.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export function printSigningKeys(io: Io): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const keys = await listSigningKeys(database)
    printTable(
      io.stdout,
      ['ID', 'STATE', 'CREATED', 'RETIRED'],
      keys.map(({ id, createdAt, retiredAt }) => {
        return [id, retiredAt ? 'retired' : 'signs', createdAt.toISOString(), retiredAt?.toISOString() ?? '-']
      }),
    )
  })
}

export function replaceSigningKey(io: Io): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const keyRing = (await mayHavePreviousRelease(database.sql)) ? undefined : keyRingOf(readConfig(io.env))
    io.stdout.write(`${await rotateSigningKey(database, keyRing)}\n`)
  })
}
