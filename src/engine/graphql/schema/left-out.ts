import { type GraphQLResolveInfo, Kind, type ValueNode } from 'graphql'
import { type FieldError, invalidInput } from '../../errors.ts'
import { own } from '../../own.ts'

type Info = Pick<GraphQLResolveInfo, 'fieldNodes' | 'variableValues'>

/** The fields of an input that restrict what its mutation does. The conditions in a filter count too. */
export interface Restrictions {
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
export function rejectLeftOut(
  { fields, nullable = [] }: Restrictions,
  input: object,
  { fieldNodes, variableValues }: Info,
): void {
  const argument = fieldNodes[0]?.arguments?.find(({ name }) => name.value === 'input')?.value
  const errors: FieldError[] = []

  function check(path: readonly string[], value: unknown, node: ValueNode | undefined): void {
    const isAbsent = node?.kind === Kind.VARIABLE && !Object.hasOwn(variableValues, node.name.value)
    if (isAbsent || (value === null && !nullable.includes(path.join('.')))) errors.push(leftOut(path))
    else
      for (const name of namesIn(value, node)) check([...path, name], own(value as object, name), fieldOf(node, name))
  }

  for (const name of [...fields, ...nullable]) check([name], own(input, name), fieldOf(argument, name))
  if (errors.length > 0) throw invalidInput(errors)
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

function leftOut(path: readonly string[]): FieldError {
  const [parent, condition] = path
  const instead = condition === undefined ? 'Leave it out for the default' : `${parent}: {} selects everything`
  return {
    field: path.join('.'),
    code: 'REQUIRED',
    message: `must not be null or a variable without a value, because that restricts nothing. ${instead}`,
  }
}
