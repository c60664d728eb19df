import { Command, InvalidArgumentError, Option } from 'commander'
import { createKey, listKeys, revokeKey, rotateKey } from '../domain/credential/key.service.ts'
import { findTenant } from '../domain/tenant/tenant.service.ts'
import { scopes } from '../engine/auth/scopes.ts'
import type { ApiKey } from '../engine/db/generated/prisma/client.ts'
import { printTable } from './table.ts'
import { withMigratedDatabase } from './with-database.ts'

interface CreateOptions {
  readonly tenant: string
  readonly name: string
  readonly expires?: Date
  readonly scopes?: string[]
}

/** `fusion keys …` */
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
    .action(({ tenant: tenantName, name, expires, scopes: given }: CreateOptions) =>
      withMigratedDatabase(async (database) => {
        const tenant = await findTenant(database, tenantName)
        const { row, key } = await createKey(database, {
          tenantAppId: tenant.id,
          name,
          expiresAt: expires,
          scopes: given,
        })
        process.stderr.write(`Created ${row.id} for ${tenant.name}. The key is shown only now.\n`)
        process.stdout.write(`${key}\n`)
      }),
    )

  command
    .command('list')
    .description('list the keys, without their secrets')
    .action(() =>
      withMigratedDatabase(async (database) => {
        const keys = await listKeys(database)
        printTable([
          ['ID', 'TENANT', 'NAME', 'STATE', 'SCOPES', 'EXPIRES', 'LAST USED'],
          ...keys.map((key) => [
            key.id,
            key.tenantApp.name,
            key.name,
            stateOf(key),
            key.scopes.join(','),
            key.expiresAt?.toISOString() ?? 'never',
            key.lastUsedAt?.toISOString() ?? 'never',
          ]),
        ])
      }),
    )

  command
    .command('rotate')
    .argument('<id>', 'the id of the key, from keys list')
    .addOption(
      new Option('--grace <time>', 'how long the old key stays valid: 30m, 24h, 7d, or 0')
        .argParser(readGrace)
        .default(24 * hour, '24h'),
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
    .description('revoke a key')
    .action((id: string) =>
      withMigratedDatabase(async (database) => {
        await revokeKey(database, id)
        process.stdout.write(`Revoked ${id}\n`)
      }),
    )

  return command
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return 'revoked'
  return expiresAt && expiresAt.getTime() <= Date.now() ? 'expired' : 'active'
}

function readList(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}

const hour = 3_600_000

const units = { m: hour / 60, h: hour, d: 24 * hour }

/** `30m` ⇒ half an hour, in milliseconds; undefined if the text is not a duration. */
function readDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  return unit === undefined ? undefined : Number(count) * units[unit as keyof typeof units]
}

/** A duration, or 0. In milliseconds. */
function readGrace(text: string): number {
  const duration = /^0+$/.test(text) ? 0 : readDuration(text)
  if (duration === undefined) throw new InvalidArgumentError('Give minutes (30m), hours (24h), days (7d), or 0.')
  return duration
}

/** `15m` ⇒ in fifteen minutes; otherwise a date or a time in ISO 8601. */
function readExpiry(text: string): Date {
  const duration = readDuration(text)
  if (duration !== undefined) return new Date(Date.now() + duration)
  const [, date] = /^(\d{4}-\d{2}-\d{2})(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2}))?$/.exec(text) ?? []
  const time = new Date(text)
  // JavaScript reads 2027-02-30 as March 2.
  if (!date || Number.isNaN(time.getTime()) || new Date(date).toISOString().slice(0, 10) !== date) {
    throw new InvalidArgumentError(
      'Give a date (2027-01-31), a time (2027-01-31T08:00:00Z), or a time from now (15m, 12h, 90d).',
    )
  }
  return time
}
