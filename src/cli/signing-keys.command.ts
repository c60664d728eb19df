import { Command } from 'commander'
import { listSigningKeys, rotateSigningKey } from '../engine/auth/tokens/signing-keys.ts'
import { printTable } from './table.ts'
import { withMigratedDatabase } from './with-database.ts'

/** `fusion signing-keys …` */
export function signingKeysCommand(): Command {
  const command = new Command('signing-keys').description('list and rotate the keys that sign access tokens')

  command
    .command('list')
    .description('list the keys, without their secrets')
    .action(() =>
      withMigratedDatabase(async (database) => {
        const keys = await listSigningKeys(database)
        printTable([
          ['ID', 'STATE', 'CREATED', 'RETIRED'],
          ...keys.map(({ id, createdAt, retiredAt }) => [
            ...[id, retiredAt ? 'retired' : 'signs', createdAt.toISOString(), retiredAt?.toISOString() ?? '-'],
          ]),
        ])
      }),
    )

  command
    .command('rotate')
    .description('sign with a new key from now on. Tokens that the old key has signed stay valid until they expire')
    .action(() =>
      withMigratedDatabase(async (database) => {
        process.stdout.write(`${await rotateSigningKey(database)}\n`)
      }),
    )

  return command
}
