import { OperatorError } from '@fusion-gateway/base'
import type { Database, TenantApp } from '@fusion-gateway/database'
import { operatorName } from '@fusion-gateway/input'
import { idsWithPrefix } from '@fusion-gateway/sql'

export const tenantIds = idsWithPrefix('ten')

/** @throws OperatorError if the name is blank, longer than 200 characters or one line, or taken */
export async function createTenant({ prisma }: Pick<Database, 'prisma'>, name: string): Promise<TenantApp> {
  const parsed = operatorName.safeParse(name)
  if (!parsed.success) throw new OperatorError('The name of a tenant must have 1–200 characters in one line.')
  const data = { id: tenantIds.create(), name: parsed.data }
  const [tenant] = await prisma.tenantApp.createManyAndReturn({ data, skipDuplicates: true })
  if (!tenant) throw new OperatorError(`A tenant with the name ${parsed.data} already exists.`)
  return tenant
}

/** Lists all tenants by name. */
export function listTenants({ prisma }: Pick<Database, 'prisma'>): Promise<TenantApp[]> {
  return prisma.tenantApp.findMany({ orderBy: { name: 'asc' } })
}

/** @throws OperatorError if no tenant has the name, or its deletion has begun */
export async function findTenant({ prisma }: Pick<Database, 'prisma'>, name: string): Promise<TenantApp> {
  const tenant = await findTenantToDelete({ prisma }, name)
  if (tenant.deletingSince) {
    throw new OperatorError(
      `The deletion of ${name} has begun. Complete it: npm run fusion -- tenants delete ${JSON.stringify(name)}`,
    )
  }
  return tenant
}

/** As `findTenant`, also if its deletion has begun. @throws OperatorError if no tenant has the name */
export async function findTenantToDelete({ prisma }: Pick<Database, 'prisma'>, name: string): Promise<TenantApp> {
  const tenant = await prisma.tenantApp.findFirst({ where: { name } })
  if (!tenant) throw new OperatorError(`No tenant has the name ${name}. See: npm run fusion -- tenants list`)
  return tenant
}

/** @throws OperatorError if no tenant has the name or the id */
export async function findTenantOrId({ prisma }: Pick<Database, 'prisma'>, nameOrId: string): Promise<TenantApp> {
  return (await prisma.tenantApp.findUnique({ where: { id: nameOrId } })) ?? findTenant({ prisma }, nameOrId)
}
