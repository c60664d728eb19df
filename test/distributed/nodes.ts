import type { Database } from '@fusion-gateway/database'
import type { TestApp, TestTenant } from '../support/app.ts'
import { nodes } from '../support/postgresql.ts'

/** The node that has the rows of a tenant: `host:port`. */
export async function nodeOf({ database }: { readonly database: Database }, tenantAppId: string): Promise<string> {
  const [found] = await database.prisma.$queryRawUnsafe<{ node: string }[]>(
    `SELECT nodename || ':' || nodeport AS node FROM pg_dist_placement JOIN pg_dist_node USING (groupid)
      WHERE shardid = get_shard_id_for_distribution_column('event', $1::text)`,
    tenantAppId,
  )
  return String(found?.node)
}

/** Another node. */
export async function otherNodeOf(app: { readonly database: Database }, tenantAppId: string): Promise<string> {
  const node = await nodeOf(app, tenantAppId)
  return nodes.find((other) => other !== node) ?? ''
}

/** Creates a tenant whose rows a node has. */
export async function createTenantOn(
  app: Pick<TestApp, 'createTenant'> & { readonly database: Database },
  node: string,
): Promise<TestTenant> {
  for (;;) {
    const tenant = await app.createTenant()
    if ((await nodeOf(app, tenant.tenantAppId)) === node) return tenant
  }
}
