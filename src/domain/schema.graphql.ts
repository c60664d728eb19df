import path from 'node:path'
import { buildSchemas, type Schemas, subgraphOf } from '../engine/graphql/operation/prepare/schemas.ts'
import { type Entities, printSubgraph } from '../engine/graphql/schema/federation.ts'
import { printSortedSchema as print } from '../engine/graphql/schema/semantic-nullability.ts'
import { byPlatform } from './account/account.graphql.ts'
import './tenant/tenant.graphql.ts'
import './user/user.graphql.ts'
import './profile/profile.graphql.ts'
import './stats/user-stats.graphql.ts'
import './stats/profile-stats.graphql.ts'
import './stats/tenant-stats.graphql.ts'
import './event/event.graphql.ts'
import './job/job.graphql.ts'
import './webhook/webhook.graphql.ts'
import './credential/credential.graphql.ts'
import './usage/usage.graphql.ts'

export const schemas = buildSchemas()

/** The types that other subgraphs of Apollo Federation can refer to. */
const entities: Entities = { User: [], Account: [byPlatform], Profile: [], EmailRecord: [], Job: [] }

let subgraph: Schemas | undefined

/** The schema that clients get: with FEDERATION=on that of a subgraph, which has what routers ask for too. */
export function schemasFor({ federation }: { readonly federation: boolean }): Schemas {
  if (!federation) return schemas
  subgraph ??= subgraphOf(schemas, entities)
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
