import { Command, Option } from 'commander'
import { maxPointsPerMinute } from '../../engine/auth/api-key.ts'
import { scopes } from '../../engine/auth/scopes.ts'
import type { NewKeyOptions } from '../actions/keys.ts'
import type { Io } from '../io.ts'
import { readExpiry, readGrace, readList, wholeNumber } from './option-values.ts'

export function keysCommand(io: Io): Command {
  const command = new Command('keys').description('create, list, rotate and revoke API keys')

  command
    .command('create')
    .description('create a key and print it on stdout. It is shown only once')
    .requiredOption('--tenant <name>', 'the tenant that the key belongs to')
    .option('--name <name>', 'the name of the key', 'unnamed')
    .option(
      '--expires <when>',
      'a date (2027-01-31), a time (2027-01-31T08:00:00Z), or a time from now (15m, 12h, 90d)',
      readExpiry,
    )
    .option('--scopes <list>', `the scopes, separated by commas; all by default: ${scopes.join(', ')}`, readList)
    .option(
      '--rate-limit <points>',
      'the points that the key can spend per minute, if that is less than RATE_LIMIT',
      wholeNumber(1, maxPointsPerMinute),
    )
    .action(async (options: NewKeyOptions) => (await import('../actions/keys.ts')).createKeyOf(io, options))

  command
    .command('list')
    .description('list the keys, without their secrets')
    .action(async () => (await import('../actions/keys.ts')).printKeys(io))

  command
    .command('rotate')
    .argument('<id>', 'the id of the key, from keys list')
    .addOption(
      new Option('--grace <time>', 'how long the old key stays valid: 30m, 24h, 7d, or 0')
        .argParser(readGrace)
        .default(readGrace('24h'), '24h'),
    )
    .description('create the successor of a key and print it on stdout. It is shown only once')
    .action(async (id: string, { grace }: { readonly grace: number }) =>
      (await import('../actions/keys.ts')).createSuccessor(io, id, grace),
    )

  command
    .command('revoke')
    .argument('<id>', 'the id of the key, from keys list')
    .description('revoke a key, the keys that it has created, and theirs')
    .action(async (id: string) => (await import('../actions/keys.ts')).revokeTree(io, id))

  return command
}

export function signingKeysCommand(io: Io): Command {
  const command = new Command('signing-keys').description('list and rotate the keys that sign access tokens')

  command
    .command('list')
    .description('list the keys, without their secrets')
    .action(async () => (await import('../actions/signing-keys.ts')).printSigningKeys(io))

  command
    .command('rotate')
    .description('sign with a new key from now on. Tokens that the old key has signed stay valid until they expire')
    .action(async () => (await import('../actions/signing-keys.ts')).replaceSigningKey(io))

  return command
}
