import type { MarkedTenant } from '../../soak/tenants.ts'
import type { Client } from '../load/client.ts'

interface Page<Node> {
  readonly nodes: readonly Node[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

/**
 * Reads a whole list of a tenant by pages.
 *
 * @param fields the selection of a node
 */
export async function readPages<Node>(
  client: Client,
  tenant: MarkedTenant,
  list: 'users' | 'jobs',
  fields: string,
): Promise<Node[]> {
  const query = `query ($after: String) {
    list: ${list}(first: 200, after: $after) { nodes { ${fields} } pageInfo { hasNextPage endCursor } } }`
  const nodes: Node[] = []
  for (let after: string | null = null; ; ) {
    const { response } = await client.send({ tenant, path: '/graphql', body: { query, variables: { after } } })
    const { data } = JSON.parse(response?.text ?? '{}') as { data?: { list: Page<Node> } }
    if (!data) throw new Error(`The ${list} of tenant ${tenant.number} cannot be read: ${response?.text}`)
    nodes.push(...data.list.nodes)
    if (!data.list.pageInfo.hasNextPage) return nodes
    after = data.list.pageInfo.endCursor
  }
}
