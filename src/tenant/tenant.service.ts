import type { Database } from '../db/database.ts'
import type { TenantApp } from '../db/generated/prisma/client.ts'
import { newId } from '../db/ids.ts'
import { isName, OperatorError } from '../operator.ts'

/**
 * Makes a tenant.
 *
 * @throws OperatorError when the name is blank, longer than 200 characters, more than a line, or taken
 */
export async function createTenant({ prisma }: Database, name: string): Promise<TenantApp> {
  const trimmed = name.trim()
  if (!isName(trimmed)) throw new OperatorError('A tenant needs a name of 1–200 characters, in one line.')
  const data = { id: newId('TenantApp'), name: trimmed }
  const [tenant] = await prisma.tenantApp.createManyAndReturn({ data, skipDuplicates: true })
  if (!tenant) throw new OperatorError(`There is a tenant with the name ${trimmed} already.`)
  return tenant
}

/** All tenants, by name. */
export function listTenants({ prisma }: Database): Promise<TenantApp[]> {
  return prisma.tenantApp.findMany({ orderBy: { name: 'asc' } })
}

/**
 * The tenant of a name.
 *
 * @throws OperatorError when there is none
 */
export async function findTenant({ prisma }: Database, name: string): Promise<TenantApp> {
  const tenant = await prisma.tenantApp.findFirst({ where: { name } })
  if (!tenant) throw new OperatorError(`There is no tenant with the name ${name}. See: npm run fusion -- tenants list`)
  return tenant
}
