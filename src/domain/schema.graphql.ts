import path from 'node:path'
import { buildSchemas, type Schemas, subgraphOf } from '@fusion-gateway/gateway-kit'
import { type Entities, printSortedSchema as print, printSubgraph } from '@fusion-gateway/pothos-trees'
import { byPlatform } from './account/account.graphql.ts'
import { builder } from './builder.ts'
import { loadNodesOf } from './node.graphql.ts'
import './tenant/tenant.graphql.ts'
import { byExternalId } from './user/user.graphql.ts'
import './profile/profile.graphql.ts'
import './profile/profile-history.graphql.ts'
import './stats/user-stats.graphql.ts'
import './stats/profile-stats.graphql.ts'
import './stats/tenant-stats.graphql.ts'
import './event/event.graphql.ts'
import './job/job.graphql.ts'
import './stats/job-stats.graphql.ts'
import './webhook/webhook.graphql.ts'
import './credential/credential.graphql.ts'
import './usage/usage.graphql.ts'

const description =
  'Users of a tenant app, their accounts on platforms with their profiles, and jobs. Each request sees the one tenant of its API key or ' +
  'access token. A missing object and one of another tenant are both null.'

export const schemas = buildSchemas(builder, description)

/** The types that other subgraphs of Apollo Federation can refer to. */
const entities: Entities = { User: [byExternalId], Account: [byPlatform], Profile: [], EmailRecord: [], Job: [] }

let subgraph: Schemas | undefined

/** The schema that clients get: with FEDERATION=on that of a subgraph, which has what routers ask for too. */
export function schemasFor({ federation }: { readonly federation: boolean }): Schemas {
  if (!federation) return schemas
  subgraph ??= subgraphOf(schemas, entities, loadNodesOf)
  return subgraph
}

/** The folder of the operations that GraphiQL opens in tabs. */
export const graphiqlTabs = path.join(import.meta.dirname, 'graphiql-tabs')

/** The text of schema.graphql. */
export function printSortedSchema(): string {
  return `${print(schemas.schema)}\n`
}

/** The text of the subgraph's schema, for the composition of a supergraph. */
export function printSubgraphSchema(): string {
  return printSubgraph(schemas.schema, entities)
}
