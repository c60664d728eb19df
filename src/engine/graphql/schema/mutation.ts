import type { InputFieldMap, InputRef, InputShapeFromFields, ObjectRef, TypeParam } from '@pothos/core'
import { type GraphQLResolveInfo, Kind, type ValueNode } from 'graphql'
import type { FieldScope, Scope } from '../../auth/scopes.ts'
import { type Context, writeIn } from '../../context.ts'
import { type FieldError, type FieldErrorCode, GatewayError, invalidInput } from '../../errors.ts'
import { own } from '../../own.ts'
import { builder } from './builder.ts'
import type { FieldCost, FieldMetadata } from './field-metadata.ts'

type Types = (typeof builder)['$inferSchemaTypes']

const UserErrorCode = builder.enumType('UserErrorCode', {
  description: 'Why a field of an input was rejected.',
  values: {
    REQUIRED: { description: 'The field must have a value.' },
    INVALID_TYPE: { description: 'The value has the wrong type.' },
    INVALID_FORMAT: { description: 'The value has the wrong format.' },
    TOO_LONG: { description: 'The value is too long or has too many entries.' },
    OUT_OF_RANGE: { description: 'The value is outside of the allowed range.' },
    NOT_FOUND: { description: 'No object of this tenant has this id.' },
    CONFLICT: {
      description:
        'Another object has the same id or key, or the object is in another state or has changed since it was read.',
    },
    DUPLICATE: { description: 'An earlier input of the same call has the same id, key or account.' },
  } satisfies Record<FieldErrorCode, { description: string }>,
})

/** An error in the input of a mutation that the client can fix. */
const UserError = builder.objectRef<FieldError>('UserError').implement({
  scope: 'inherited',
  description: 'An error in the input that the client can fix. Nothing was written.',
  fields: (t) => ({
    code: t.field({ type: UserErrorCode, description: 'Why the field was rejected.', resolve: ({ code }) => code }),
    message: t.exposeString('message', { description: 'The error in words.' }),
    field: t.stringList({
      nullable: true,
      description: 'The path of the field in the input.',
      resolve: ({ field }) => field.split('.'),
    }),
  }),
})

/** The result of a mutation: what it wrote, or the errors of its input. */
export interface Payload<Result> {
  readonly result: Result | null
  readonly userErrors: readonly FieldError[]
  /** The row as it is now, if it was not written because it has changed since the client has read it. */
  readonly current?: unknown
}

/** The payload of a rejected input. */
export function rejected({ fields, current }: GatewayError, toField = (field: string) => field): Payload<never> {
  const userErrors = fields.map(({ field, ...error }) => ({ field: toField(field), ...error }))
  return { result: null, userErrors, current }
}

interface ResultField<Result> {
  readonly field: string
  readonly type: TypeParam<Types>
  readonly description: string
  /** The scope for the field, if it shows more than the mutation has written. */
  readonly scope?: FieldScope
  readonly cost?: FieldCost
  /** Its value, if it is not the whole result. */
  readonly value?: (result: Result, context: Context) => unknown
  /** Whether it shows `current` of the payload: if there is no result, or nothing else. */
  readonly current?: 'instead' | 'only'
}

/** `never` until the fields are inferred, so that TypeScript infers them before it checks `run`. */
type InputOf<Fields extends InputFieldMap> = [Fields] extends [never] ? never : InputShapeFromFields<Fields>

export type InputFields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>

interface MutationOptions<Fields extends InputFieldMap, Result> {
  readonly scope: Scope
  readonly description: string
  /** The fields of the input type, which is named after the mutation. */
  readonly input: (t: InputFields) => Fields
  readonly inputDescription: string
  /** What the description of the input type says besides its mutation. */
  readonly inputRules?: string
  /** The fields of the input without which the mutation does more: not named, or with a value. */
  readonly restrictions?: Restrictions
  readonly isSecret?: FieldMetadata['isSecret']
  readonly cost?: FieldCost
  readonly results: readonly ResultField<Result>[]
  /** False if `run` writes with one statement, which is a transaction by itself. */
  readonly transaction?: boolean
  /**
   * Runs before the transaction, for what takes longer than a transaction should. Can reject fields of the input, too.
   */
  readonly prepare?: (context: Context, input: InputOf<Fields>) => Promise<void>
  /**
   * Runs in a transaction, unless `transaction` is false. If it rejects a field of the input, the payload has
   * `userErrors` and nothing is written.
   */
  readonly run: (context: Context, input: InputOf<Fields>) => Promise<Result>
}

/** An input that is only an id: `inputWithId('user')` ⇒ `{ id: ID! }`. */
export const inputWithId = (resource: string) => (t: InputFields) => ({
  id: t.id({ required: true, description: `The id of the ${resource}.` }),
})

/** The restriction of a mutation to a row that has not changed since the client has read it. */
export const ifUnchanged: Restrictions = { fields: ['expectedUpdatedAt'] }

/** The field of an input with this restriction. */
export const expectedUpdatedAt = (resource: string) => (t: InputFields) => ({
  expectedUpdatedAt: t.field({
    type: 'DateTime',
    description:
      `The \`updatedAt\` of the ${resource}, as the client has read it. If the ${resource} has another one by now, nothing is ` +
      'written and the error is CONFLICT. Absent: nothing is checked.',
  }),
})

/** A mutation that is defined. `defineBulkMutation` defines its companion for many inputs. */
export interface DefinedMutation<Input, Result> extends Pick<FieldMetadata, 'isSecret' | 'cost'> {
  readonly name: string
  readonly scope: Scope
  readonly transaction: boolean
  readonly restrictions: Restrictions
  readonly input: InputRef<Input>
  readonly payload: ObjectRef<Types, Payload<Result>>
}

const unchanged = (result: unknown): unknown => result

/**
 * Defines a mutation with one argument, `input`, and the payload `{ <result>, userErrors }`:
 * `defineMutation('createUser', …)` ⇒ `createUser(input: CreateUserInput!): CreateUserPayload!`.
 */
export function defineMutation<Result, Fields extends InputFieldMap = never>(
  name: string,
  options: MutationOptions<Fields, Result>,
): DefinedMutation<InputOf<Fields>, Result> {
  const {
    scope,
    description,
    results,
    isSecret = false,
    cost = {},
    transaction = true,
    restrictions = { fields: [] },
    prepare,
    run,
  } = options
  const typename = `${name.charAt(0).toUpperCase()}${name.slice(1)}`
  const input = builder.inputType(`${typename}Input`, {
    description: `The input of \`${name}\`. ${options.inputRules ?? ''}`.trim(),
    fields: options.input,
  })
  const payload = definePayload(name, `${typename}Payload`, results)

  async function resolve(context: Context, given: InputOf<Fields>, info: GraphQLResolveInfo): Promise<Payload<Result>> {
    try {
      requireRestrictions(restrictions, given, info)
      await prepare?.(context, given)
      return { result: await writeIn(context, { transaction }, (own) => run(own, given)), userErrors: [] }
    } catch (error) {
      if (error instanceof GatewayError && error.fields.length > 0) return rejected(error)
      throw error
    }
  }

  builder.mutationField(name, (t) =>
    t.field({
      type: payload,
      scope,
      description,
      isSecret,
      cost,
      args: { input: t.arg({ type: input, required: true, description: options.inputDescription }) },
      // TypeScript does not follow the type of an argument whose input type is a parameter.
      resolve: (_, args, context, info) => resolve(context, (args as typeof args & { input: never }).input, info),
    }),
  )
  const ofFields = input as unknown as InputRef<InputOf<Fields>>
  return { name, scope, isSecret, cost, transaction, restrictions, input: ofFields, payload }
}

function definePayload<Result>(name: string, typename: string, results: readonly ResultField<Result>[]) {
  return builder.objectRef<Payload<Result>>(typename).implement({
    scope: 'inherited',
    description: `Result of \`${name}\`.`,
    fields: (t) => ({
      ...Object.fromEntries(
        results.map(
          ({ field, type, scope: ownScope = 'inherited', cost = {}, value = unchanged, current, ...shown }) => [
            field,
            t.field({
              type,
              scope: ownScope,
              cost,
              nullable: true,
              description: `${shown.description} ${whenNull[current ?? 'never']}`,
              resolve: (payload: Payload<Result>, _: object, context: Context) =>
                shownOf(payload, value, current, context) as never,
            }),
          ],
        ),
      ),
      userErrors: t.field({
        type: [UserError],
        description: 'The errors of the input. Empty if the mutation succeeded.',
        resolve: ({ userErrors }) => userErrors,
      }),
    }),
  })
}

const whenNull = {
  never: 'Null if the input was rejected.',
  instead: 'With CONFLICT of `expectedUpdatedAt`, as it is now. Null if the input was rejected for another reason.',
  only: 'Null otherwise.',
}

function shownOf<Result>(
  { result, current = null }: Payload<Result>,
  value: (result: Result, context: Context) => unknown,
  shows: ResultField<Result>['current'],
  context: Context,
): unknown {
  if (shows === 'only' || result === null) return shows ? current : null
  return value(result, context)
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
      for (const name of namesIn(value, node)) check([...path, name], own(value as object, name), fieldOf(node, name))
  }

  for (const name of [...fields, ...nullable]) check([name], own(input, name), fieldOf(argument, name))
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
  const given = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
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
