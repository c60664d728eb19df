import {
  type FieldError,
  type FieldErrorCode,
  type FieldScope,
  GatewayError,
  invalidInput,
  isObject,
  ownValue,
} from '@fusion-gateway/base'
import SchemaBuilder, {
  type InputFieldMap,
  type InputRef,
  type InputShapeFromFields,
  type ObjectFieldsShape,
  type ObjectRef,
  type SchemaTypes,
} from '@pothos/core'
import { type GraphQLResolveInfo, Kind, type ValueNode } from 'graphql'
import type { FieldCost, FieldMetadata } from '../field-metadata.ts'
import { type AppTypes, type Context, shared } from '../types.ts'
import { writeIn } from './write-in.ts'

export type InputFields = PothosSchemaTypes.InputFieldBuilder<AppTypes, 'InputObject'>

/** Declares the fields of a payload, whose parent is what the mutation has written. */
export type OutputFields<Result> = PothosSchemaTypes.ObjectFieldBuilder<AppTypes, Result>

interface InputOptions<Inputs extends InputFieldMap> {
  /** What the argument `input` is: `The user to create.` */
  readonly description: string
  /** What the description of the input type says besides its mutation. */
  readonly rules?: string
  /** The fields of the input type, which is named after the mutation. */
  readonly inputFields: (t: InputFields) => Inputs
}

interface WriteOptions<Input, Result> {
  readonly scope?: FieldScope | undefined
  readonly description: string
  /** The fields of the input without which the mutation does more: not named, or with a value. */
  readonly restrictions?: Restrictions
  readonly isSecret?: FieldMetadata['isSecret']
  readonly cost?: FieldCost
  /** False if `resolve` writes with one statement, which is a transaction by itself. */
  readonly transaction?: boolean
  /**
   * Runs before the transaction, for what takes longer than a transaction should. Can reject fields of the input, too.
   */
  readonly prepare?: (input: Input, context: Context) => Promise<void>
  /**
   * Runs in a transaction, unless `transaction` is false. If it rejects a field of the input, the payload has
   * `userErrors` and nothing is written.
   */
  readonly resolve: (root: object, args: { readonly input: Input }, context: Context) => Promise<Result>
}

interface PayloadOptions<Result> {
  /**
   * The fields of the payload besides `userErrors`, whose parent is what `resolve` returned. They are null if the input
   * was rejected.
   */
  readonly outputFields: ObjectFieldsShape<AppTypes, Result>
}

/** A mutation that is defined. `builder.bulkWriteField` defines its companion for many inputs. */
export interface WriteField<Input, Result> extends Pick<FieldMetadata, 'isSecret' | 'cost'> {
  readonly scope?: FieldScope | undefined
  readonly transaction: boolean
  readonly restrictions: Restrictions
  readonly input: InputRef<Input>
  readonly payload: ObjectRef<AppTypes, Payload<Result>>
}

declare global {
  export namespace PothosSchemaTypes {
    interface SchemaBuilder<Types extends SchemaTypes> {
      /**
       * Defines a mutation with one argument, `input`, and the payload `{ <output fields>, userErrors }`, with the
       * options of `relayMutationField`: `builder.writeField('createUser', …)` ⇒ `createUser(input: CreateUserInput!):
       * CreateUserPayload!`.
       */
      writeField<Inputs extends InputFieldMap, Result>(
        name: string,
        inputOptions: InputOptions<Inputs>,
        fieldOptions: WriteOptions<InputShapeFromFields<Inputs>, Result>,
        payloadOptions: PayloadOptions<Result>,
      ): WriteField<InputShapeFromFields<Inputs>, Result>
    }

    interface BaseTypeOptions<Types extends SchemaTypes> {
      /** Whether the type is the payload of a mutation, and the parent of its fields what the mutation has written. */
      isPayload?: boolean
    }
  }
}

const userErrorCodes: Readonly<Record<FieldErrorCode, string>> = {
  REQUIRED: 'The field must have a value.',
  INVALID_TYPE: 'The value has the wrong type.',
  INVALID_FORMAT: 'The value has the wrong format.',
  TOO_LONG: 'The value is too long or has too many entries.',
  OUT_OF_RANGE: 'The value is outside of the allowed range.',
  NOT_FOUND: 'No object has this id.',
  CONFLICT:
    'Another object has the same id or key, or the object is in another state or has changed since it was read.',
  DUPLICATE: 'An earlier input of the same call has the same id or key.',
}

const userErrorCode = shared((builder) =>
  builder.enumType('UserErrorCode', {
    description: 'Why a field of an input was rejected.',
    values: Object.fromEntries(
      Object.entries({ ...userErrorCodes, ...builder.options.trees.userErrorCodes }).map(([code, description]) => [
        code,
        { description },
      ]),
    ) as Record<FieldErrorCode, { description: string }>,
  }),
)

/** An error in the input of a mutation that the client can fix. */
const userError = shared((builder) =>
  builder.objectRef<FieldError>('UserError').implement({
    scope: 'inherited',
    description: 'An error in the input that the client can fix. Nothing was written.',
    fields: (t) => ({
      code: t.field({
        type: userErrorCode(builder),
        description: 'Why the field was rejected.',
        resolve: ({ code }) => code,
      }),
      message: t.exposeString('message', { description: 'The error in words.' }),
      field: t.stringList({
        nullable: true,
        description: 'The path of the field in the input.',
        resolve: ({ field }) => field.split('.'),
      }),
    }),
  }),
)

/** The result of a mutation: what it wrote, or the errors of its input. */
export interface Payload<Result> {
  readonly result: Result | null
  readonly userErrors: readonly FieldError[]
  /** The row as it is now, if it was not written because it has changed since the client has read it. */
  readonly current?: unknown
}

export function rejected({ fields, current }: GatewayError, toField = (field: string) => field): Payload<never> {
  const userErrors = fields.map(({ field, ...error }) => ({ field: toField(field), ...error }))
  return { result: null, userErrors, current }
}

/** An input that is only an id: `inputWithId('user')` ⇒ `{ id: ID! }`. */
export const inputWithId = (resource: string) => (t: InputFields) => ({
  id: t.id({ required: true, description: `The id of the ${resource}.` }),
})

/** The restriction of a mutation to a row that has not changed since the client has read it. */
export const ifUnchanged: Restrictions = { fields: ['expectedUpdatedAt'] }

export const expectedUpdatedAt = (resource: string) => (t: InputFields) => ({
  expectedUpdatedAt: t.field({
    type: 'DateTime',
    description:
      `The \`updatedAt\` of the ${resource}, as the client has read it. If the ${resource} has another one by now, nothing is ` +
      'written and the error is CONFLICT. Absent: nothing is checked.',
  }),
})

const { prototype } = SchemaBuilder as { readonly prototype: PothosSchemaTypes.SchemaBuilder<AppTypes> }

prototype.writeField = function writeField(
  this: typeof prototype,
  name,
  { description: inputDescription, rules = '', inputFields },
  {
    scope,
    description,
    restrictions = { fields: [] },
    isSecret = false,
    cost = {},
    transaction = true,
    prepare,
    resolve,
  },
  { outputFields },
) {
  const typename = `${name.charAt(0).toUpperCase()}${name.slice(1)}`
  const input = this.inputType(`${typename}Input`, {
    description: `The input of \`${name}\`. ${rules}`.trim(),
    fields: inputFields,
  })
  const payload = this.objectRef<Payload<Awaited<ReturnType<typeof resolve>>>>(`${typename}Payload`).implement({
    scope: 'inherited',
    isPayload: true,
    description: `Result of \`${name}\`.`,
    fields: (t) => ({
      ...outputFields(t as unknown as Parameters<typeof outputFields>[0]),
      userErrors: t.field({
        type: [userError(this)],
        description: 'The errors of the input. Empty if the mutation succeeded.',
        resolve: ({ userErrors }) => userErrors,
      }),
    }),
  })
  this.mutationField(name, (t) =>
    t.field({
      type: payload,
      scope,
      description,
      isSecret,
      cost,
      args: { input: t.arg({ type: input, required: true, description: inputDescription }) },
      async resolve(root, given, context, info) {
        // TypeScript does not follow the type of an argument whose input type is a parameter.
        const args = given as typeof given & Parameters<typeof resolve>[1]
        try {
          requireRestrictions(restrictions, args.input, info)
          await prepare?.(args.input, context)
          const result = await writeIn(context, { transaction }, (within) => resolve(root, args, within))
          return { result, userErrors: [] }
        } catch (error) {
          if (error instanceof GatewayError && error.fields.length > 0) return rejected(error)
          throw error
        }
      },
    }),
  )
  return { scope, isSecret, cost, transaction, restrictions, input, payload }
}

/** How the description of a field of a payload says when it is null. See `current` in field-metadata.ts. */
export const whenNull = {
  never: 'Null if the input was rejected.',
  instead: 'With CONFLICT of `expectedUpdatedAt`, as it is now. Null if the input was rejected for another reason.',
  only: 'Null otherwise.',
}

type Info = Pick<GraphQLResolveInfo, 'fieldNodes' | 'variableValues'>

/** The fields of an input that restrict what its mutation does. The conditions in a filter count too. */
interface Restrictions {
  /** Null restricts nothing. */
  readonly fields: readonly string[]
  /** Those for which null is a value that a client sends on purpose. */
  readonly nullable?: readonly string[]
}

/**
 * Rejects an input in which a restriction has no value: it is null, or a variable for which the request has no value. A
 * client that forgets the value would change more than it means to. A restriction that neither the document nor a
 * variable with the whole input names is left out on purpose.
 *
 * @throws GatewayError BAD_USER_INPUT naming each restriction without a value
 */
function requireRestrictions(
  { fields, nullable = [] }: Restrictions,
  input: object,
  { fieldNodes, variableValues }: Info,
): void {
  const argument = fieldNodes[0]?.arguments?.find(({ name }) => name.value === 'input')?.value
  const errors: FieldError[] = []

  function check(path: readonly string[], value: unknown, node: ValueNode | undefined): void {
    const isAbsent = node?.kind === Kind.VARIABLE && !Object.hasOwn(variableValues, node.name.value)
    if (isAbsent || (value === null && !nullable.includes(path.join('.')))) errors.push(missingRestriction(path))
    else if (Array.isArray(value)) {
      // GraphQL reads a single value as a list of one.
      for (const [index, item] of value.entries())
        check([...path, String(index)], item, node?.kind === Kind.LIST ? node.values[index] : node)
    } else
      for (const name of namesIn(value, node))
        check([...path, name], ownValue(value as object, name), fieldOf(node, name))
  }

  for (const name of [...fields, ...nullable]) check([name], ownValue(input, name), fieldOf(argument, name))
  if (errors.length > 0) throw invalidInput(errors)
}

/**
 * The inputs of a bulk mutation. A restriction that is a variable without a value is null, so that the rules of the
 * input reject it without stopping the others.
 */
export function withNulls<Input>(
  { fields }: Restrictions,
  inputs: readonly Input[],
  { fieldNodes, variableValues }: Info,
): readonly Input[] {
  const argument = fieldNodes[0]?.arguments?.find(({ name }) => name.value === 'inputs')?.value
  if (argument?.kind !== Kind.LIST) return inputs
  return inputs.map((input, index) => {
    const isAbsent = (name: string) => {
      const node = fieldOf(argument.values[index], name)
      return node?.kind === Kind.VARIABLE && !Object.hasOwn(variableValues, node.name.value)
    }
    return { ...input, ...Object.fromEntries(fields.filter(isAbsent).map((name) => [name, null])) }
  })
}

/** The fields of an object that have a value, or a variable in the document. */
function namesIn(value: unknown, node: ValueNode | undefined): ReadonlySet<string> {
  const named = node?.kind === Kind.OBJECT ? node.fields.map(({ name }) => name.value) : []
  const given = isObject(value) ? Object.keys(value) : []
  return new Set([...named, ...given])
}

function fieldOf(node: ValueNode | undefined, name: string): ValueNode | undefined {
  return node?.kind === Kind.OBJECT ? node.fields.find((field) => field.name.value === name)?.value : undefined
}

function missingRestriction(path: readonly string[]): FieldError {
  const [parent, condition] = path
  const instead = condition === undefined ? 'Leave it out for the default' : `${parent}: {} selects everything`
  return {
    field: path.join('.'),
    code: 'REQUIRED',
    message: `must not be null or a variable without a value, because that restricts nothing. ${instead}`,
  }
}
