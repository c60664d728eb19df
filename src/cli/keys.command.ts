import { Command, Option } from 'commander'
import { createKey, listKeys, maxPointsPerMinute, revokeKey, rotateKey } from '../domain/credential/key.service.ts'
import { findTenant } from '../domain/tenant/tenant.service.ts'
import { scopes } from '../engine/auth/scopes.ts'
import { listSigningKeys, rotateSigningKey } from '../engine/auth/tokens/signing-keys.ts'
import type { ApiKey } from '../engine/db/generated/prisma/client.ts'
import { readExpiry, readGrace, readList, wholeNumber } from './option-values.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

interface CreateOptions {
  readonly tenant: string
  readonly name: string
  readonly expires?: Date
  readonly scopes?: string[]
  readonly rateLimit?: number
}

export function keysCommand(): Command {
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
    .action(({ tenant: tenantName, name, expires: expiresAt, scopes: given, rateLimit }: CreateOptions) =>
      withMigratedDatabase(async (database) => {
        const { id: tenantAppId } = await findTenant(database, tenantName)
        const { row, key } = await createKey(database, {
          ...{ tenantAppId, name, expiresAt, scopes: given, pointsPerMinute: rateLimit },
        })
        process.stderr.write(`Created ${row.id} for ${tenantName}. The key is shown only now.\n`)
        process.stdout.write(`${key}\n`)
      }),
    )

  command
    .command('list')
    .description('list the keys, without their secrets')
    .action(() =>
      withMigratedDatabase(async (database) => {
        const keys = await listKeys(database)
        printTable(
          ['ID', 'TENANT', 'NAME', 'STATE', 'SCOPES', 'EXPIRES', 'LAST USED', 'CREATOR', 'POINTS/MINUTE'],
          keys.map((key) => [
            key.id,
            key.tenantApp.name,
            key.name,
            stateOf(key),
            key.scopes.join(','),
            key.expiresAt?.toISOString() ?? 'never',
            key.lastUsedAt?.toISOString() ?? 'never',
            key.creatorId ?? '-',
            String(key.pointsPerMinute ?? '-'),
          ]),
        )
      }),
    )

  command
    .command('rotate')
    .argument('<id>', 'the id of the key, from keys list')
    .addOption(
      new Option('--grace <time>', 'how long the old key stays valid: 30m, 24h, 7d, or 0')
        .argParser(readGrace)
        .default(readGrace('24h'), '24h'),
    )
    .description('create the successor of a key and print it on stdout. It is shown only once')
    .action((id: string, { grace }: { readonly grace: number }) =>
      withMigratedDatabase(async (database) => {
        const { row, key } = await rotateKey(database, id, grace)
        process.stderr.write(`Created ${row.id}, the successor of ${id}. The key is shown only now.\n`)
        process.stdout.write(`${key}\n`)
      }),
    )

  command
    .command('revoke')
    .argument('<id>', 'the id of the key, from keys list')
    .description('revoke a key, the keys that it has created, and theirs')
    .action((id: string) =>
      withMigratedDatabase(async (database) => {
        const revoked = await revokeKey(database, id)
        for (const each of new Set([id, ...revoked])) process.stdout.write(`Revoked ${each}\n`)
      }),
    )

  return command
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return 'revoked'
  return expiresAt && expiresAt.getTime() <= Date.now() ? 'expired' : 'active'
}

export function signingKeysCommand(): Command {
  const command = new Command('signing-keys').description('list and rotate the keys that sign access tokens')

  command
    .command('list')
    .description('list the keys, without their secrets')
    .action(() =>
      withMigratedDatabase(async (database) => {
        const keys = await listSigningKeys(database)
        printTable(
          ['ID', 'STATE', 'CREATED', 'RETIRED'],
          keys.map(({ id, createdAt, retiredAt }) => {
            return [id, retiredAt ? 'retired' : 'signs', createdAt.toISOString(), retiredAt?.toISOString() ?? '-']
          }),
        )
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
