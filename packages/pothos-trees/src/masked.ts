import { forbidden, GatewayError, type Scope } from '@fusion-gateway/base'
import { type FieldNode, type GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql'
import type { Context } from './types.ts'

type Path = GraphQLResolveInfo['path']

/** What the viewer of an execution may not see: the error of each field, and where else it is null. */
interface Masked {
  readonly byField: Map<FieldNode | undefined, MaskedField[]>
  readonly pathsOf: Map<Error, Path[]>
  count: number
}

/** A field of a document, by all nodes that select it in a row: fragments can merge others with the first of them. */
interface MaskedField {
  readonly nodes: readonly FieldNode[]
  readonly scope: Scope
  readonly error: GatewayError
}

const executions = new WeakMap<object, Masked>()

const maskedOf = ({ execution }: Context) => execution && executions.get(execution)

/** The most errors of rows in a response. 55,000 kept another client waiting for 7 s, 2,000 for 0.1 s. */
export const maxErrors = 2_000

/** The context of one execution, for which fields can be masked. */
export function withMasks(context: Context): Context {
  const execution = {}
  executions.set(execution, { byField: new Map(), pathsOf: new Map(), count: 0 })
  return { ...context, execution }
}

/** Notes another place at which an error made something null. */
function note(masked: Masked, error: GatewayError, path: Path): void {
  masked.count += 1
  if (masked.count <= maxErrors) masked.pathsOf.get(error)?.push(path)
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
  const masked = maskedOf(context)
  const fields = masked?.byField.get(nodes[0]) ?? []
  const known = fields.find((field) => field.scope === scope && isSame(field.nodes, nodes))
  if (!masked || !known) {
    const error = forbidden(scope)
    masked?.byField.set(nodes[0], [...fields, { nodes, scope, error }])
    masked?.pathsOf.set(error, [])
    throw error
  }
  note(masked, known.error, path)
  return null
}

/**
 * Withholds entries of a list for the same reason as `mask` withholds fields: of those with the same error, the first
 * one has it, and further ones are null.
 */
export function maskEntries<Entry>(
  context: Context,
  { path }: GraphQLResolveInfo,
  entries: readonly (Entry | GatewayError | null)[],
): (Entry | GatewayError | null)[] {
  const masked = maskedOf(context)
  return entries.map((entry, index) => {
    if (!masked || !(entry instanceof GatewayError)) return entry
    if (!masked.pathsOf.has(entry)) {
      masked.pathsOf.set(entry, [])
      return entry
    }
    note(masked, entry, { prev: path, key: index, typename: undefined })
    return null
  })
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
  const { pathsOf } = maskedOf(context) ?? {}
  if (!pathsOf || pathsOf.size === 0) return errors
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
