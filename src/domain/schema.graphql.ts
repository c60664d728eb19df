import path from 'node:path'
import { buildSchemas } from '../engine/graphql/operation/prepare/schemas.ts'
import { printSortedSchema as print } from '../engine/graphql/schema/semantic-nullability.ts'
// The order decides which type `node` prefers if rows of two types have the id.
import './tenant/tenant.graphql.ts'
import './user/user.graphql.ts'
import './account/account.graphql.ts'
import './profile/profile.graphql.ts'
import './user/user-stats.graphql.ts'
import './profile/profile-stats.graphql.ts'
import './event/event.graphql.ts'
import './job/job.graphql.ts'
import './job/job.mutations.graphql.ts'
import './webhook/webhook.graphql.ts'
import './credential/credential.graphql.ts'
import './usage/usage.graphql.ts'

export const schemas = buildSchemas()

/** The folder of the operations that GraphiQL opens in tabs. */
export const graphiqlTabs = path.join(import.meta.dirname, 'graphiql-tabs')

/** The text of schema.graphql. */
export function printSortedSchema(): string {
  return `${print(schemas.schema)}\n`
}
