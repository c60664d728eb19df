import type { InputObjectRef, TypeParam } from '@pothos/core'
import type { FieldScope, Scope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import { type FieldError, GatewayError } from '../../errors.ts'
import { builder } from './builder.ts'
import { UserError } from './user-error.ts'

type Types = (typeof builder)['$inferSchemaTypes']

/** The result of a mutation: what it wrote, or the errors of its input. */
interface Payload<Result> {
  readonly result: Result | null
  readonly userErrors: readonly FieldError[]
}

interface MutationOptions<Input extends object, Result> {
  readonly scope: Scope
  readonly description: string
  readonly input: InputObjectRef<Types, Input>
  readonly inputDescription: string
  /** The field of the payload that has the result. */
  readonly result: {
    readonly field: string
    readonly type: TypeParam<Types>
    readonly description: string
    /** The scope for the result, if it shows more than the mutation has written. */
    readonly scope?: FieldScope
  }
  /** Whether `run` writes with one statement, which needs no transaction. */
  readonly hasOneWrite?: boolean
  /** Runs in a transaction, unless `hasOneWrite`. If it rejects a field of the input, the payload has `userErrors` and nothing is written. */
  readonly run: (context: Context, input: Input) => Promise<Result>
}

/**
 * Defines a mutation with one argument, `input`, and the payload `{ <result>, userErrors }`:
 * `defineMutation('createUser', …)` ⇒ `createUser(input: CreateUserInput!): CreateUserPayload!`.
 */
export function defineMutation<Input extends object, Result>(
  name: string,
  { scope, description, input, inputDescription, result, hasOneWrite = false, run }: MutationOptions<Input, Result>,
): void {
  const payload = builder
    .objectRef<Payload<Result>>(`${name.charAt(0).toUpperCase()}${name.slice(1)}Payload`)
    .implement({
      scope: 'inherited',
      description: `Result of \`${name}\`.`,
      fields: (t) => ({
        [result.field]: t.field({
          type: result.type,
          scope: result.scope ?? 'inherited',
          nullable: true,
          description: `${result.description} Null if the input was rejected.`,
          resolve: (row: Payload<Result>) => row.result as never,
        }),
        userErrors: t.field({
          type: [UserError],
          description: 'The errors of the input. Empty if the mutation succeeded.',
          resolve: ({ userErrors }) => userErrors,
        }),
      }),
    })

  async function resolve(context: Context, given: Input): Promise<Payload<Result>> {
    try {
      return { result: await context.transact(() => run(context, given), { hasOneWrite }), userErrors: [] }
    } catch (error) {
      if (error instanceof GatewayError && error.fields.length > 0) return { result: null, userErrors: error.fields }
      throw error
    } finally {
      // Later reads of the request see what was written.
      context.loaders.clearAll()
    }
  }

  builder.mutationField(name, (t) =>
    t.field({
      type: payload,
      scope,
      description,
      args: { input: t.arg({ type: input, required: true, description: inputDescription }) },
      // TypeScript does not follow the type of an argument whose input type is a parameter.
      resolve: (_, args, context) => resolve(context, (args as unknown as { input: Input }).input),
    }),
  )
}
