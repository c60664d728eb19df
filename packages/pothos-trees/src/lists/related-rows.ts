import { GatewayError, ownValue } from '@fusion-gateway/base'
import type { DataModel, Loaders, Model } from '@fusion-gateway/prisma-trees'
import { oldestFirst, orderOf, type Relation, relationTo } from '@fusion-gateway/prisma-trees'
import type { FieldNode, GraphQLFieldResolver, GraphQLResolveInfo } from 'graphql'
import type { Context } from '../types.ts'

// How the fields of plugin-prisma's `t.relation` are planned and resolved. plugin-prisma would load them with Prisma
// Client, from the selection of each request.

/** The rows of a relation that a field asks for, as Prisma Client takes it. */
export interface RelationQuery {
  readonly where?: object | undefined
  readonly orderBy?: object | undefined
  readonly take?: number | undefined
}

/** The option `query` of `t.relation`, which returns a {@link RelationQuery}. */
export interface RelationQueryFunction<Args = object> {
  (args: Args, context: Context): object
  /** Whether it asks for the whole relation if no argument has a value. Such fields are planned once. */
  readonly isWholeWithoutArguments?: boolean
}

/** What plugin-prisma keeps of a declaration. `nested` is called with the option `query`. */
type Select = (
  args: object,
  context: object,
  nested: (query: unknown) => unknown,
) => { readonly select: Readonly<Record<string, RelationQuery | RelationQueryFunction>> }

/**
 * The relation of a field that `t.relation` declares.
 *
 * @param isRequired whether the field has a value. Its row can be missing if it was deleted between two statements of
 *   the request: the resolver then throws SERVICE_UNAVAILABLE, so that the client sends it again
 */
export function relatedRows(dataModel: DataModel, model: Model, name: string, select: Select, isRequired: boolean) {
  const field = dataModel(model).relationOf(name)
  if (!field) throw new Error(`${model}.${name} is no relation between rows of an owner`)
  const { from } = field
  const relation = relationTo(field)
  const query = ownValue(select({}, {}, (declared) => declared).select, name) as RelationQuery | RelationQueryFunction
  const asked: RelationQueryFunction = typeof query === 'function' ? query : () => query
  const isWhole = typeof query !== 'function' && Object.keys(query).length === 0
  const canBeWhole = isWhole || asked.isWholeWithoutArguments === true

  const restrict = oncePerField((args: object, context): Relation => {
    const { where = {}, orderBy, take }: RelationQuery = asked(args, context)
    const order = orderBy === undefined ? oldestFirst : orderOf(dataModel, field.model, orderBy)
    const isOrdered = order.field !== oldestFirst.field || order.direction !== oldestFirst.direction || order.ties
    if (Object.keys(where).length === 0 && take === undefined && !isOrdered) return relation
    const rows = { where, order, direction: order.direction, limit: take }
    return context.loaders.restrict(relation as Relation<Model>, rows)
  })

  const resolve: GraphQLFieldResolver<unknown, Context> = (parent, args, context, info) => {
    const key = ownValue(parent as object, from) as string | null
    if (key === null) return null
    const isAsked = !isWhole && (!canBeWhole || Object.values(args).some((value) => value != null))
    const rows = context.loaders.load(isAsked ? restrict(nodeOf(info), () => args, context) : relation, key)
    if (!isRequired || field.kind === 'many') return rows
    return rows instanceof Promise ? rows.then(present) : present(rows)
  }

  return { relation, from, canBeWhole, ...(!isWhole && { restrict }), resolve }
}

function present<Value>(row: Value): Value {
  if (row !== null) return row
  throw new GatewayError(
    'SERVICE_UNAVAILABLE',
    'A row of the response was deleted while the response was read. Send the request again.',
  )
}

/**
 * Reads the arguments of a field of the document once in a request, because all parents have the same. A rejection is
 * remembered too. The loaders stand for the request: they belong to one operation, with one set of variables.
 */
export function oncePerField<Args, Result>(read: (args: Args, context: Context) => Result) {
  const ofRequest = new WeakMap<Loaders, Map<FieldNode, () => Result>>()
  return (node: FieldNode, args: () => Args, context: Context): Result => {
    const known = ofRequest.get(context.loaders) ?? new Map<FieldNode, () => Result>()
    ofRequest.set(context.loaders, known)
    let result = known.get(node)
    if (!result) {
      result = outcomeOf(() => read(args(), context))
      known.set(node, result)
    }
    return result()
  }
}

function outcomeOf<Result>(work: () => Result): () => Result {
  try {
    const result = work()
    return () => result
  } catch (error) {
    return () => {
      throw error
    }
  }
}

/** The field of the document that a resolver serves. Fragments can merge others with it, which have its arguments. */
export function nodeOf({ fieldNodes }: GraphQLResolveInfo): FieldNode {
  return fieldNodes[0] as FieldNode
}

/** The loaders that follow the plan of a root field: they read the relations below it together with its rows. */
export function plannedLoaders({ loaders }: Pick<Context, 'loaders'>, info: GraphQLResolveInfo): Loaders {
  return loaders.at(nodeOf(info))
}
