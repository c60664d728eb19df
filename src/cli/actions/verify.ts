import { OperatorError } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import { readConfig } from '../../config.ts'
import { findMentions, findMentionsOfTenant } from '../../domain/erasure/erase-users.ts'
import { readStoredSecrets } from '../../domain/secrets/stored-secrets.ts'
import { findTenant, listTenants, tenantIds } from '../../domain/tenant/tenant.service.ts'
import { keyRingOf } from '../../server/key-ring-of.ts'
import type { Io } from '../io.ts'
import { printJson, printTable } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export interface ErasureOptions {
  /** A deleted user. Without it, `tenant` is the id of a deleted tenant. */
  readonly user?: string
  /** The name of the tenant of the user. */
  readonly tenant?: string
  readonly text: readonly string[]
  readonly json?: boolean
}

/** A statement reads every column of a table, which can take an hour. */
const statementMilliseconds = 3_600_000

export function verifyErasure(io: Io, { user, tenant, text: texts, json }: ErasureOptions): Promise<void> {
  return withMigratedDatabase(
    io,
    async (database) => {
      const mentions = await (user === undefined
        ? findMentionsOfTenant(database, await requireDeleted(database, tenant ?? ''), texts)
        : findMentions(database, { userId: user, texts, ...(await idOf(database, tenant)) }))
      if (json) printJson(io.stdout, mentions)
      else if (mentions.length > 0) {
        const cells = mentions.map(({ table, column, rows, isKept }) => [
          table,
          column,
          rows,
          isKept ? 'kept' : 'found',
        ])
        printTable(io.stdout, ['TABLE', 'COLUMN', 'ROWS', 'STATE'], cells)
      }
      const isErased = mentions.every(({ isKept }) => isKept)
      if (!isErased) io.exitCode = 1
      const { kept, later } = user === undefined ? noRemainder : remainderOfUser
      const name = user ?? tenant
      io.stderr.write(isErased ? `No row names ${name}${kept}.\n` : `Some rows name ${name}.${later}\n`)
    },
    { statementMilliseconds },
  )
}

const noRemainder = { kept: '', later: '' }
const remainderOfUser = {
  kept: ', except for the ids in the event log',
  later: ' The gateway erases what names a deleted user within seconds, and what a running job has when the job ends.',
}

async function idOf(database: Database, tenant: string | undefined): Promise<{ tenantAppId?: string }> {
  return tenant === undefined ? {} : { tenantAppId: (await findTenant(database, tenant)).id }
}

/**
 * Returns the id of a tenant that was deleted.
 *
 * @throws OperatorError if it is no id of a tenant, or the tenant exists
 */
async function requireDeleted(database: Database, id: string): Promise<string> {
  const tenants = await listTenants(database)
  if (tenants.some((tenant) => tenant.id === id || tenant.name === id)) {
    throw new OperatorError(`The tenant ${id} is not deleted. Look for a user of it with --user.`)
  }
  if (id.startsWith(tenantIds.prefix)) return id
  throw new OperatorError(`Give the id of the deleted tenant, which tenants delete has printed: ${tenantIds.prefix}…`)
}

const current = 'key 1'

export function verifySecrets(io: Io, { encrypt = false }: { readonly encrypt?: boolean }): Promise<void> {
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
    const rows = [...counts].map(([entry, count]) => [...entry.split('\t'), count])
    printTable(io.stdout, ['SECRET', 'STORED WITH', 'COUNT'], rows)
    if (rows.some(([, storage]) => storage !== current)) io.exitCode = 1
  })
}

export function verifyDistributed(io: Io, { json }: { readonly json?: boolean }): Promise<void> {
  return withMigratedDatabase(io, async ({ driver, sql }) => {
    if (!driver.isDistributed?.()) {
      throw new OperatorError('The database is not distributed. See docs/scaling.md#citus.')
    }
    const { verifyDistribution } = await import('@fusion-gateway/citus')
    const findings = (await verifyDistribution(sql)).map(({ part, ok, text }) => {
      return { part, state: ok === undefined ? 'unknown' : ok ? 'right' : 'wrong', text }
    })
    if (json) printJson(io.stdout, findings)
    else printTable(io.stdout, ['PART', 'STATE', 'FOUND'], findings.map(Object.values))
    if (findings.some(({ state }) => state === 'wrong')) io.exitCode = 1
  })
}
