import { GatewayError, invalidField } from '@fusion-gateway/base'
import type { Outcome } from '@fusion-gateway/input'
import SchemaBuilder, { type SchemaTypes } from '@pothos/core'
import type { FieldMetadata } from '../field-metadata.ts'
import type { AppTypes, Context } from '../types.ts'
import { type Payload, rejected, type WriteField, withNulls } from './write-field.ts'
import { writeIn } from './write-in.ts'

const maxInputs = 100

interface BulkOptions<Input, Result> {
  readonly description: string
  /** What the argument `inputs` is: `The users to create`. */
  readonly inputsDescription: string
  /**
   * Returns an outcome for each input, in their order. Its number of statements must not depend on the number of
   * inputs. Runs in a transaction, unless the mutation for one input runs without.
   */
  readonly resolve: (
    root: object,
    args: { readonly inputs: readonly Input[] },
    context: Context,
  ) => Promise<readonly Outcome<Result>[]>
}

declare global {
  export namespace PothosSchemaTypes {
    interface SchemaBuilder<Types extends SchemaTypes> {
      /**
       * Defines a mutation that does with each of many inputs what another mutation does with one:
       * `builder.bulkWriteField('createUsers', createUserField, …)` ⇒ `createUsers(inputs: [CreateUserInput!]!):
       * CreateUsersPayload!`, whose `results` are `CreateUserPayload`s. A rejected input does not stop the others. It
       * costs as much as the other mutation for each input.
       */
      bulkWriteField<Input, Result>(
        name: string,
        one: WriteField<Input, Result>,
        options: BulkOptions<Input, Result>,
      ): void
    }
  }
}

const { prototype } = SchemaBuilder as { readonly prototype: PothosSchemaTypes.SchemaBuilder<AppTypes> }

prototype.bulkWriteField = function bulkWriteField<Input, Result>(
  this: typeof prototype,
  name: string,
  one: WriteField<Input, Result>,
  { description, inputsDescription, resolve }: BulkOptions<Input, Result>,
): void {
  const { scope, isSecret = false, transaction } = one
  const typename = `${name.charAt(0).toUpperCase()}${name.slice(1)}Payload`
  const payload = this.objectRef<readonly Payload<Result>[]>(typename).implement({
    scope: 'inherited',
    description: `Result of \`${name}\`.`,
    fields: (t) => ({
      results: t.field({
        type: [one.payload],
        description: 'The result of each input, in their order.',
        resolve: (results) => [...results],
      }),
    }),
  })
  this.mutationField(name, (t) =>
    t.field({
      type: payload,
      scope,
      description: `${description} The valid inputs are written in one transaction; a rejected one does not stop the others.`,
      isSecret,
      cost: { page: 'inputs', extra: extraOf(one) },
      args: {
        inputs: t.arg({
          type: [one.input],
          required: true,
          description: `${inputsDescription}: at most ${maxInputs}.`,
        }),
      },
      async resolve(root, args, context, info) {
        const inputs = withNulls(one.restrictions, args.inputs, info)
        if (inputs.length > maxInputs) {
          throw invalidField('inputs', 'TOO_LONG', `must have at most ${maxInputs} entries`)
        }
        if (inputs.length === 0) return []
        return (await writeIn(context, { transaction }, (within) => resolve(root, { inputs }, within))).map(toPayload)
      },
    }),
  )
}

/** What an input costs besides its nodes, for all inputs. */
function extraOf({ cost }: Pick<FieldMetadata, 'cost'>) {
  return ({ inputs }: Readonly<Record<string, unknown>>, isOfRoot: boolean) =>
    [inputs].flat().reduce<number>((points, input) => points + (cost?.extra?.({ input }, isOfRoot) ?? 0), 0)
}

function toPayload<Result>(outcome: Outcome<Result>, index: number): Payload<Result> {
  if (!(outcome instanceof GatewayError)) return { result: outcome, userErrors: [] }
  return rejected(outcome, (field) => `inputs.${index}.${field}`)
}
