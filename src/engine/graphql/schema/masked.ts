import { type FieldNode, type GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql'
import { forbidden, type Scope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import type { GatewayError } from '../../errors.ts'

type Path = GraphQLResolveInfo['path']

/** The fields of an execution that its viewer may not see: the error of each, and where else they are null. */
interface Masked {
  readonly byField: Map<FieldNode | undefined, MaskedField[]>
  count: number
}

/** A field of a document, by all nodes that select it in a row: fragments can merge others with the first of them. */
interface MaskedField {
  readonly nodes: readonly FieldNode[]
  readonly error: GatewayError
  readonly paths: Path[]
}

const executions = new WeakMap<Context, Masked>()

/**
 * The most errors of rows in a response. With 55,000, an attack made another client wait for 7 s and took 2.3 GiB; with
 * 5,000 it was 0.3 s, with 2,000 it was 0.1 s.
 */
export const maxErrors = 2_000

/** The context of one execution, for which fields can be masked. */
export function withMasks(context: Context): Context {
  const own = { ...context }
  executions.set(own, { byField: new Map(), count: 0 })
  return own
}

/**
 * Withholds a nullable field in a row, from a viewer who lacks its scope. The first row throws the error. Further rows
 * only note their path: `errorAtEachPath` repeats the error there, because to throw it for each row would take several
 * times as long.
 *
 * @returns null
 * @throws GatewayError FORBIDDEN for the first row of a field of the document
 */
export function mask(context: Context, { fieldNodes: nodes, path }: GraphQLResolveInfo, scope: Scope): null {
  const masked = executions.get(context)
  const fields = masked?.byField.get(nodes[0]) ?? []
  const known = fields.find((field) => isSame(field.nodes, nodes))
  if (!masked || !known) {
    const error = forbidden(scope)
    masked?.byField.set(nodes[0], [...fields, { nodes, error, paths: [] }])
    throw error
  }
  masked.count += 1
  if (masked.count <= maxErrors) known.paths.push(path)
  return null
}

function isSame(one: readonly FieldNode[], other: readonly FieldNode[]): boolean {
  return one === other || (one.length === other.length && one.every((node, index) => node === other[index]))
}

/**
 * The errors of an execution, with one for each path that is null because the viewer lacks a scope. Clients that treat
 * null as an error find it by its path.
 *
 * @see https://specs.apollo.dev/nullability/v0.4/
 */
export function errorAtEachPath(context: Context, errors: readonly GraphQLError[]): readonly GraphQLError[] {
  const { byField } = executions.get(context) ?? {}
  if (!byField || byField.size === 0) return errors
  const pathsOf = new Map([...byField.values()].flat().map(({ error, paths }) => [error as Error, paths]))
  return errors.flatMap((error) => {
    const paths = error.originalError && pathsOf.get(error.originalError)
    return paths ? [error, ...repeat(error, paths)] : error
  })
}

/** The same error at other paths. New ones would look for their location in the document, each again. */
function repeat(error: GraphQLError, paths: readonly Path[]): GraphQLError[] {
  const undefinedValue = { value: undefined }
  // From these, Yoga would look for the location.
  const repeated = Object.create(error, { nodes: undefinedValue, source: undefinedValue, positions: undefinedValue })
  return paths.map(
    (path) => Object.assign(Object.create(repeated), { path: responsePathAsArray(path) }) as GraphQLError,
  )
}
