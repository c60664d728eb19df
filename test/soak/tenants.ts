import { openDatabase } from '../../src/database.ts'
import { createKey } from '../../src/domain/credential/key.service.ts'
import type { Cluster } from '../support/cluster.ts'
import { migrate, roleOf } from '../support/migrate.ts'
import { locationOf } from '../support/settings.ts'

/** A tenant whose rows contain the tenant's mark in every text. */
export interface MarkedTenant {
  readonly number: number
  readonly key: string
}

export const usersPerTenant = 10

/** An id with the mark of its tenant. For `shared`, an id that every tenant has. */
export function idOf(prefix: string, tenant: number, row: number | 'shared'): string {
  return row === 'shared' ? `${prefix}_shared` : `${prefix}${markOf(tenant)}${row}`
}

function markOf(tenant: number): string {
  return `_of${tenant}_`
}

/** Finds the tenants whose marks a text contains. */
export function tenantsIn(text: string): Set<number> {
  return new Set(Array.from(text.matchAll(/_of(\d+)_/g), ([, number]) => Number(number)))
}

/**
 * Migrates a database and creates tenants, each with users, accounts and profiles. One user of each tenant has ids that
 * all tenants use, so a read by id alone returns rows of another tenant.
 */
export async function createMarkedTenants(
  { url, ownerUrl }: Pick<Cluster, 'url' | 'ownerUrl'>,
  count: number,
): Promise<MarkedTenant[]> {
  await migrate(ownerUrl, roleOf(url))
  const database = await openDatabase(locationOf(url))
  const { prisma } = database
  const tenants: MarkedTenant[] = []
  for (let number = 0; number < count; number += 1) {
    const mark = markOf(number)
    const tenantAppId = `ten${mark}`
    await prisma.tenantApp.create({ data: { id: tenantAppId, name: `Tenant${mark}` } })
    const rows = ['shared' as const, ...Array.from({ length: usersPerTenant }, (_, row) => row)]
    const platform = { tenantAppId, platform: 'TWITCH' }
    await prisma.user.createMany({
      data: rows.map((row) => ({
        tenantAppId,
        id: idOf('usr', number, row),
        name: `Ada${mark}${row}`,
        email: `ada${mark}${row}@example.com`,
      })),
    })
    await prisma.account.createMany({
      data: rows.map((row) => ({
        ...platform,
        id: idOf('acc', number, row),
        userId: idOf('usr', number, row),
        platformAccountId: `ada${mark}${row}`,
        displayName: `Ada${mark}`,
      })),
    })
    await prisma.profile.createMany({
      data: rows.map((row) => ({
        ...platform,
        id: idOf('prf', number, row),
        accountId: idOf('acc', number, row),
        platformAccountId: `ada${mark}${row}`,
        username: `ada${mark}`,
        fullName: `Ada${mark}`,
      })),
    })
    tenants.push({ number, key: (await createKey(database, { tenantAppId, name: 'soak' })).key })
  }
  await database.close()
  return tenants
}
