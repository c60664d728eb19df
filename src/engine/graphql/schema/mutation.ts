import type { InputObjectRef, TypeParam } from '@pothos/core'
import type { FieldScope, Scope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import { type FieldError, GatewayError } from '../../errors.ts'
import { builder } from './builder.ts'
import type { FieldCost, FieldMetadata } from './field-metadata.ts'
import { UserError } from './user-error.ts'

type Types = (typeof builder)['$inferSchemaTypes']

/** The result of a mutation, or the errors of its input. */
interface Payload<Result> {
  readonly result: Result | null
  readonly userErrors: readonly FieldError[]
}

/** A field of the payload that shows the result. */
interface ResultField<Result> {
  readonly field: string
  readonly type: TypeParam<Types>
  readonly description: string
  /** The scope for the field, if it shows more than the mutation has written. */
  readonly scope?: FieldScope
  /** Its value, if it is not the whole result. */
  readonly value?: (result: Result) => unknown
}

interface MutationOptions<Input extends object, Result> {
  readonly scope: Scope
  readonly description: string
  readonly input: InputObjectRef<Types, Input>
  readonly inputDescription: string
  readonly isSecret?: FieldMetadata['isSecret']
  readonly cost?: FieldCost
  /** The fields of the payload that show the result. */
  readonly results: readonly ResultField<Result>[]
  /** Whether `run` writes with one statement, which needs no transaction. */
  readonly hasOneWrite?: boolean
  /** Runs in a transaction, unless `hasOneWrite`. If it rejects a field of the input, the payload has `userErrors` and nothing is written. */
  readonly run: (context: Context, input: Input) => Promise<Result>
}

const unchanged = (result: unknown): unknown => result

/**
 * Defines a mutation with one argument, `input`, and the payload `{ <result>, userErrors }`:
 * `defineMutation('createUser', …)` ⇒ `createUser(input: CreateUserInput!): CreateUserPayload!`.
 */
export function defineMutation<Input extends object, Result>(
  name: string,
  {
    scope,
    description,
    input,
    inputDescription,
    results,
    isSecret = false,
    cost = {},
    hasOneWrite = false,
    run,
  }: MutationOptions<Input, Result>,
): void {
  const payload = builder
    .objectRef<Payload<Result>>(`${name.charAt(0).toUpperCase()}${name.slice(1)}Payload`)
    .implement({
      scope: 'inherited',
      description: `Result of \`${name}\`.`,
      fields: (t) => ({
        ...Object.fromEntries(
          results.map(({ field, type, scope: ownScope = 'inherited', value = unchanged, ...shown }) => [
            field,
            t.field({
              type,
              scope: ownScope,
              nullable: true,
              description: `${shown.description} Null if the input was rejected.`,
              resolve: ({ result }: Payload<Result>) => (result === null ? null : value(result)) as never,
            }),
          ]),
        ),
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
      // Later reads of the request must see the write.
      context.loaders.clearAll()
    }
  }

  builder.mutationField(name, (t) =>
    t.field({
      type: payload,
      scope,
      description,
      isSecret,
      cost,
      args: { input: t.arg({ type: input, required: true, description: inputDescription }) },
      // TypeScript does not follow the type of an argument whose input type is a parameter.
      resolve: (_, args, context) => resolve(context, (args as unknown as { input: Input }).input),
    }),
  )
}
