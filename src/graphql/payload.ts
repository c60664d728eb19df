import type { TypeParam } from '@pothos/core'
import type { FieldScope } from '../auth/scopes.ts'
import type { Context } from '../context.ts'
import { type FieldError, GatewayError } from '../errors.ts'
import { builder } from './builder.ts'
import { UserError } from './user-error.ts'

/** What a mutation answers: its result when all went well, otherwise what to mend. */
export interface Payload<Result> {
  readonly result: Result | null
  readonly userErrors: readonly FieldError[]
}

type Types = (typeof builder)['$inferSchemaTypes']

/**
 * Defines the type that a mutation answers: `{ <field>: <type>, userErrors: [UserError!]! }`.
 *
 * @param name `CreateUserPayload` ⇒ "What came of `createUser`."
 * @param scope what a key needs for the result, where it shows more than the mutation has written
 */
export function definePayload<Result>(
  name: `${string}Payload`,
  field: string,
  type: TypeParam<Types>,
  description: string,
  scope: FieldScope = 'inherited',
) {
  const mutation = name.charAt(0).toLowerCase() + name.slice(1, -'Payload'.length)
  return builder.objectRef<Payload<Result>>(name).implement({
    scope: 'inherited',
    description: `What came of \`${mutation}\`.`,
    fields: (t) => ({
      [field]: t.field({
        type,
        scope,
        nullable: true,
        description: `${description} Null when the input was refused.`,
        resolve: ({ result }) => result as never,
      }),
      userErrors: t.field({
        type: [UserError],
        description: 'What to mend in the input; empty when all went well.',
        resolve: ({ userErrors }) => userErrors,
      }),
    }),
  })
}

/**
 * Runs a mutation's work and turns refused input into `userErrors`. Within a transaction, what was refused leaves the rest
 * standing; outside of one it is tried again when another transaction was in the way. Whatever the request has read before
 * is forgotten, so that what it reads next is what was written.
 */
export async function toPayload<Result>(context: Context, work: () => Promise<Result>): Promise<Payload<Result>> {
  try {
    return { result: await context.transactions.attempt(work), userErrors: [] }
  } catch (error) {
    if (error instanceof GatewayError && error.fields.length > 0) return { result: null, userErrors: error.fields }
    throw error
  } finally {
    context.loaders.clearAll()
  }
}
