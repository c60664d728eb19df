import type { InputObjectRef, ObjectRef } from '@pothos/core'
import type { Scope } from '../auth/scopes.ts'
import type { Context } from '../context.ts'
import { builder } from './builder.ts'
import { type Payload, toPayload } from './payload.ts'

type Types = (typeof builder)['$inferSchemaTypes']

interface MutationOptions<Input, Result> {
  readonly payload: ObjectRef<Types, Payload<Result>>
  readonly scope: Scope
  readonly description: string
  readonly input: InputObjectRef<Types, Input>
  readonly inputDescription: string
  /** Does it. What it refuses in the input becomes `userErrors`. */
  readonly work: (context: Context, input: Input) => Promise<Result>
}

/** Defines a mutation with one argument, `input`, that answers a payload (payload.ts). */
export function defineMutation<Input extends object, Result>(
  name: string,
  options: MutationOptions<Input, Result>,
): void {
  const { payload, scope, description, input, inputDescription, work } = options
  builder.mutationField(name, (t) =>
    t.field({
      type: payload,
      scope,
      description,
      args: { input: t.arg({ type: input, required: true, description: inputDescription }) },
      // The type of the argument cannot be followed through an input that is a parameter here.
      resolve: (_, args, context) =>
        toPayload(context, () => work(context, (args as unknown as { input: Input }).input)),
    }),
  )
}
