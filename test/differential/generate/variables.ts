import { astFromValue, type GraphQLInputType, getNamedType, getNullableType, print } from 'graphql'
import type { Random } from '../../../src/domain/resource.ts'

/** Values of variables by their names. A variable without a value is absent. */
export type Values = Readonly<Record<string, unknown>>

interface Variable {
  readonly name: string
  readonly definition: string
  /** One value for each set. Undefined: the variable is absent. */
  readonly values: readonly unknown[]
}

/** The number of sets of values that an operation has. */
export const sets = 2

/** The literal of a JSON value. */
export function literalOf(value: unknown, type: GraphQLInputType): string {
  if (getNamedType(type).name === '_Any') return literalOfAny(value)
  const node = astFromValue(value, type)
  if (!node) throw new Error(`${JSON.stringify(value)} is no ${type}`)
  return print(node)
}

/** The literal of a reference, or of a list of them: `{ __typename: "User", id: "usr_1" }`. */
function literalOfAny(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literalOfAny).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, of]) => `${name}: ${literalOfAny(of)}`)
  return `{ ${fields.join(', ')} }`
}

/**
 * Creates the variables of one operation.
 *
 * @param maxConditions how many of them decide `@skip` and `@include`
 */
export function createVariables({ below, pick }: Random, maxConditions: number) {
  const all: Variable[] = []
  const conditions: string[] = []

  /**
   * Declares a variable for a place in the document.
   *
   * @param type of the place
   * @param create returns a value of the type
   * @returns its reference: `$v1`
   */
  function declare(type: GraphQLInputType, create: () => unknown): string {
    const name = `v${all.length + 1}`
    const isRequired = getNullableType(type) !== type
    const nullable = getNullableType(type)
    const given = () => Array.from({ length: sets }, create)
    /** Instead of one in so many values, one of the others. */
    const some = (values: readonly unknown[], others: readonly unknown[], oneIn = 5) =>
      values.map((value) => (below(oneIn) === 0 ? pick(others) : value))
    const form = below(10)
    if (isRequired && form < 7) add(`$${name}: ${type}`, given())
    else if (isRequired && form < 9) add(`$${name}: ${type} = ${literalOf(create(), type)}`, some(given(), [undefined]))
    // Allowed in the place of a value that must not be null, because it has a default. With null, the field has an
    // error.
    else if (isRequired)
      add(`$${name}: ${nullable} = ${literalOf(create(), nullable)}`, some(given(), [undefined, null], 2))
    else if (form < 3) add(`$${name}: ${nullable} = ${literalOf(create(), nullable)}`, some(given(), [undefined, null]))
    else if (form < 5) add(`$${name}: ${nullable}!`, given())
    else add(`$${name}: ${nullable}`, some(given(), [undefined, null]))
    return `$${name}`

    function add(definition: string, values: readonly unknown[]): void {
      all.push({ name, definition, values })
    }
  }

  return {
    declare,
    /** A variable for `@skip` or `@include`: a known one, or a new one. */
    condition(type: GraphQLInputType): string {
      if (conditions.length > 0 && (conditions.length >= maxConditions || below(3) > 0)) return pick(conditions)
      // The sets of values differ in it, unless it is absent or null.
      let isTrue = below(2) === 0
      const reference = declare(type, () => {
        isTrue = !isTrue
        return isTrue
      })
      conditions.push(reference)
      return reference
    },
    /** Their definitions, after others. */
    definitions(...others: readonly string[]): string {
      const definitions = [...others, ...all.map(({ definition }) => definition)]
      return definitions.length === 0 ? '' : `(${definitions.join(', ')})`
    },
    valuesOf: (set: number): Values =>
      Object.fromEntries(all.flatMap(({ name, values }) => (values[set] === undefined ? [] : [[name, values[set]]]))),
  }
}
