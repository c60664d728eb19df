import { rotateSigningKey } from '@fusion-gateway/auth'
import type { ApiKey } from '@fusion-gateway/database'
import { readConfig } from '../../config.ts'
import { createKey, listKeys, revokeKey, rotateKey } from '../../domain/credential/key.service.ts'
import { findTenant } from '../../domain/tenant/tenant.service.ts'
import { keyRingOf } from '../../server/key-ring-of.ts'
import type { Io } from '../io.ts'
import { printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

interface NewKeyOptions {
  readonly tenant: string
  readonly name: string
  readonly expires?: Date
  readonly scopes?: string[]
  readonly rateLimit?: number
}

export function createKeyOf(io: Io, options: NewKeyOptions): Promise<void> {
  const { tenant, name, expires: expiresAt, scopes, rateLimit: pointsPerMinute } = options
  return withMigratedDatabase(io, async (database) => {
    const { id: tenantAppId } = await findTenant(database, tenant)
    const { row, key } = await createKey(database, { tenantAppId, name, expiresAt, scopes, pointsPerMinute })
    io.stderr.write(`Created ${row.id} for ${tenant}. The key is shown only now.\n`)
    io.stdout.write(`${key}\n`)
  })
}

export function printKeys(io: Io): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const keys = await listKeys(database)
    printTable(
      io.stdout,
      ['ID', 'TENANT', 'NAME', 'STATE', 'SCOPES', 'EXPIRES', 'LAST USED', 'CREATOR', 'POINTS/MINUTE'],
      keys.map((key) => [
        key.id,
        key.tenantApp.name,
        key.name,
        stateOf(key),
        key.scopes.join(','),
        key.expiresAt ?? 'never',
        key.lastUsedAt ?? 'never',
        key.creatorId,
        key.pointsPerMinute,
      ]),
    )
  })
}

export function createSuccessor(io: Io, id: string, { grace }: { readonly grace: number }): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const { row, key } = await rotateKey(database, id, grace)
    io.stderr.write(`Created ${row.id}, the successor of ${id}. The key is shown only now.\n`)
    io.stdout.write(`${key}\n`)
  })
}

export function revokeTree(io: Io, id: string): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    const revoked = await revokeKey(database, id)
    for (const each of new Set([id, ...revoked])) io.stdout.write(`Revoked ${each}\n`)
  })
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return 'revoked'
  return expiresAt && expiresAt.getTime() <= Date.now() ? 'expired' : 'active'
}

export function replaceSigningKey(io: Io): Promise<void> {
  return withMigratedDatabase(io, async (database) => {
    io.stdout.write(`${await rotateSigningKey(database, keyRingOf(readConfig(io.env)))}\n`)
  })
}
