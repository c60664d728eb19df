import { lexicographicSortSchema, printSchema } from 'graphql'
import '../auth/viewer.graphql.ts'
import '../user/user.graphql.ts'
import '../account/account.graphql.ts'
import '../profile/profile.graphql.ts'
import '../email-record/email-record.graphql.ts'
import '../job/job.graphql.ts'
import '../job/job.requests.graphql.ts'
import '../job/job.work.graphql.ts'
import '../job/job.subscriptions.graphql.ts'
import { builder } from './builder.ts'
import { acceptCoerced } from './coerced-variables.ts'

/** The executable schema: everything that the files above define. */
export const schema = builder.toSchema()

/** The same schema, for executing documents whose variables are coerced already. */
export const executableSchema = acceptCoerced(schema)

/** The same again, in which each field checks the scopes of the key before it resolves. */
export const guardedSchema = acceptCoerced(builder.toSchema({ guarded: true }))

/** The schema as the text that schema.graphql holds. */
export function printSortedSchema(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`
}
