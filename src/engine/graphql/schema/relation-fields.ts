import type { ObjectRef } from '@pothos/core'
import type { FieldNode, GraphQLResolveInfo } from 'graphql'
import type { Scope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import type { Model, Row } from '../../db/data-model.ts'
import type { Loaders } from '../../db/read/loaders.ts'
import { oldestFirst, type RelatedRows } from '../../db/read/nested-list.ts'
import { type PageRequest, windowBeyond, windowOf } from '../../db/read/page.ts'
import type { Relation, SelectedRow } from '../../db/read/relation.ts'
import { GatewayError } from '../../errors.ts'
import { own } from '../../own.ts'
import { builder } from './builder.ts'
import { maxPageSize, readPageRequest, readPageSize, type Side, toConnection } from './connection.ts'
import type { OrderedList } from './cursor.ts'
import { rowsOfParent } from './field-metadata.ts'
import { type defineList, type ListArguments, type ListSelection, selectionArguments } from './list.ts'

// Fields that return rows of a relation: a row, a list, or a connection. Pothos types a parent as a whole row. A loaded
// row has its id, the columns that the operation names, and the ids that its relations start from. A resolver reads
// only the column of its own name or such an id, so it never reads a missing column (test/graphql/field-names.test.ts).
// Code outside of resolvers gets `SelectedRow`.

type Types = (typeof builder)['$inferSchemaTypes']

/** A row as the parent of fields. */
export function asParent<M extends Model>(row: SelectedRow<M>): Row<M> {
  return row as Row<M>
}

type MaybePromise<Value> = Value | Promise<Value>

/** Loads the row that has an id; null if there is none. */
export function loadRow<M extends Model>(
  loaders: Loaders,
  relation: Relation<M, SelectedRow<M> | null>,
  id: string,
): MaybePromise<Row<M> | null> {
  return loaders.load(relation, id) as MaybePromise<Row<M> | null>
}

/** Loads the rows that have ids, in the order of the ids, with null for each id that no row has. */
export function loadRows<M extends Model>(
  loaders: Loaders,
  relation: Relation<M, SelectedRow<M> | null>,
  ids: readonly string[],
): Promise<(Row<M> | null)[]> {
  return loaders.loadAll(relation, ids) as Promise<(Row<M> | null)[]>
}

/**
 * The options of a field that returns the row of a relation, or null if the id is null: `...rowOf(profileOfAccount,
 * 'id')`.
 */
export function rowOf<M extends Model, From extends string>(relation: Relation<M, SelectedRow<M> | null>, from: From) {
  return {
    relation: { relation, from },
    resolve: ({ [from]: id }: Readonly<Record<From, string | null>>, _args: object, { loaders }: Context) =>
      id === null ? null : loadRow(loaders, relation, id),
  }
}

/**
 * The options of a field that returns the row that a foreign key refers to: `...referencedRowOf(userById, 'userId')`.
 *
 * The resolver throws SERVICE_UNAVAILABLE if the row was deleted between two statements of the request, so that the
 * client sends it again.
 */
export function referencedRowOf<M extends Model, From extends string>(
  relation: Relation<M, SelectedRow<M> | null>,
  from: From,
) {
  const { resolve, ...options } = rowOf(relation, from)
  return {
    ...options,
    resolve: (parent: Readonly<Record<From, string>>, args: object, context: Context) => {
      const row = resolve(parent, args, context)
      return row instanceof Promise ? row.then(present) : present(row)
    },
  }
}

const wasDeleted = 'A row of the response was deleted while the response was read. Send the request again.'

function present<Value>(row: Value | null): Value {
  if (row === null) throw new GatewayError('SERVICE_UNAVAILABLE', wasDeleted)
  return row
}

/** Defines the query field that returns the object with an id: `user(id: ID!): User`. */
export function defineQueryById<M extends Model>(
  name: string,
  type: ObjectRef<Types, Row<M>>,
  scope: Scope,
  relation: Relation<M, SelectedRow<M> | null>,
): void {
  builder.queryField(name, (t) =>
    t.field({
      type,
      nullable: true,
      scope,
      description: `Returns the ${name} with this id, or null if your tenant has none.`,
      args: { id: t.arg.id({ required: true, description: `The id of the ${name}.` }) },
      root: { model: relation.model, ids: 'id' },
      resolve: (_, { id }, { loaders }) => loadRow(loaders, relation, id) as never,
    }),
  )
}

// Lists of the rows that belong to another row. Their arguments restrict the relation that the field loads, so the
// planner finds the restricted relation in the selection, and reads it with the rows above (operation/prepare/plan.ts).

type Rows = readonly SelectedRow<Model>[]

interface NestedOptions {
  readonly relation: Relation<Model, Rows>
  /** The field of the parent that holds the id. */
  readonly from: string
  /** The things in the list: `accounts`. */
  readonly plural: string
  readonly scope: Scope
  readonly description: string
  readonly selection?: ListSelection
}

interface NestedListOptions extends NestedOptions {
  readonly type: ObjectRef<Types, unknown>
  /** The assumed length without `first`. */
  readonly length?: number
  /** Whether the list is null for viewers without the scope. */
  readonly isMasked?: boolean
}

interface NestedConnectionOptions extends NestedOptions {
  readonly type: ReturnType<typeof defineList>
  readonly selection: ListSelection
}

/** The id of a row from which a relation starts. */
function keyOf(row: unknown, from: string): string {
  return String(own(row as object, from))
}

/**
 * Defines a field that lists the rows of a relation, with the argument `first`, and with `filter` and `orderBy` if it
 * has a selection. Without arguments it returns all of them, oldest first.
 *
 * `defineNestedList(User, 'accounts', { relation: accountsOfUser, … })` ⇒ `User.accounts(first, filter, orderBy)`
 */
export function defineNestedList(owner: ObjectRef<Types, unknown>, name: string, options: NestedListOptions): void {
  const { type, relation, from, plural, scope, description, selection, length, isMasked = false } = options
  const restrictTo = oncePerField((args, context): Relation<Model, Rows> => {
    const limit = args.first == null ? undefined : readPageSize({ first: args.first }).size
    const order = selection?.order.read(args.orderBy, args.thenBy) ?? oldestFirst
    const conditions = selection?.filter.conditionsOf(args.filter ?? {}, context) ?? []
    const isWhole = conditions.length === 0 && limit === undefined
    // An order has functions, which are not compared.
    if (isWhole && JSON.stringify(order) === JSON.stringify(oldestFirst)) return relation
    return context.loaders.restrict(relation, { conditions, order, direction: order.direction, limit })
  })
  // Most requests give none. This is the time of a small query that counts.
  const restrict = (args: object, context: Context, info: GraphQLResolveInfo) =>
    Object.values(args).some((value) => value != null) ? restrictTo(nodeOf(info), () => args, context) : relation
  builder.objectField(owner, name, (t) =>
    t.field({
      type: [type],
      scope,
      isMasked,
      description: `${description}, oldest first.`,
      args: {
        first: t.arg.int({
          description: `The number of ${plural} from the start of the list: 0–${maxPageSize}. All by default.`,
        }),
        ...(selection && selectionArguments(t, plural, selection)),
      },
      cost: { ...(length !== undefined && { length }), extra: (args) => pointsOf(selection, args) },
      relation: { relation, from, restrict: restrictTo },
      resolve: (parent, args, context, info) =>
        context.loaders.load(restrict(args, context, info), keyOf(parent, from)) as never,
    }),
  )
}

/**
 * Defines a field that pages through the rows of a relation, with the arguments of a list.
 *
 * @param options.type the connection of the list (list.ts)
 */
export function defineNestedConnection(
  owner: ObjectRef<Types, unknown>,
  name: string,
  options: NestedConnectionOptions,
): void {
  const { type, relation, from, plural, scope, description, selection } = options
  const readPage = oncePerField((args, context): NestedPage => {
    const list = { name: plural, order: selection.order.read(args.orderBy, args.thenBy) }
    const page = readPageRequest(args, list)
    const conditions = selection.filter.conditionsOf(args.filter ?? {}, context)
    const restrict = (rows: Omit<RelatedRows, 'conditions'>) =>
      context.loaders.restrict(relation, { conditions, ...rows })
    return {
      list,
      page,
      rows: restrict(windowOf(page)),
      all: once(() => restrict({ order: oldestFirst, direction: 'ASC' })),
      beyond: {
        after: once(() => restrict(windowBeyond(page, 'after'))),
        before: once(() => restrict(windowBeyond(page, 'before'))),
      },
    }
  })
  builder.objectField(owner, name, (t) =>
    t.field({
      type,
      scope,
      description: `${description}, in pages. Oldest first by default.`,
      args: { ...t.arg.connectionArgs(), ...selectionArguments(t, plural, selection) },
      cost: { extra: (args) => pointsOf(selection, args) },
      relation: { relation, from, restrict: (node, args, context) => readPage(node, args, context).rows },
      resolve: (parent, args, context, info) => {
        const { loaders } = context
        // Throws at once: a promise for each row that is rejected would take several times as long.
        const { list, page, rows, all, beyond } = readPage(nodeOf(info), () => args, context)
        const key = keyOf(parent, from)
        const hasBeyond = async (side: Side) => (await loaders.load(beyond[side](), key)).length > 0
        const count = () => loaders.countRelated(all(), key)
        const connect = (read: Rows) =>
          ({ ...toConnection(list, page, read, hasBeyond), count, estimate: count }) as never
        const read = loaders.load(rows, key)
        return read instanceof Promise ? read.then(connect) : connect(read)
      },
    }),
  )
}

/** A page of a nested list, without the key of its parent: the relations that return its rows, and others. */
interface NestedPage {
  readonly list: OrderedList
  readonly page: PageRequest
  readonly rows: Relation<Model, Rows>
  /** All rows of the list, to count them. */
  readonly all: () => Relation<Model, Rows>
  /** A row at a cursor or beyond it. */
  readonly beyond: Readonly<Record<Side, () => Relation<Model, Rows>>>
}

function once<Result>(work: () => Result): () => Result {
  let result: { readonly value: Result } | undefined
  return () => {
    result ??= { value: work() }
    return result.value
  }
}

/**
 * Reads the arguments of a field of the document once in a request, because all parents have the same. A rejection is
 * remembered too. The loaders stand for the request: they belong to one operation, with one set of variables.
 */
function oncePerField<Result>(read: (args: ListArguments, context: Context) => Result) {
  const ofRequest = new WeakMap<Loaders, Map<FieldNode, () => Result>>()
  return (node: FieldNode, args: () => object, context: Context): Result => {
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

/** Returns a function that returns what the work has returned, or throws what it has thrown. */
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
function nodeOf({ fieldNodes }: GraphQLResolveInfo): FieldNode {
  return fieldNodes[0] as FieldNode
}

/**
 * The points for the rows of a parent that are read and not returned: those to which conditions and orders apply.
 */
function pointsOf(selection: ListSelection | undefined, given: Readonly<Record<string, unknown>>): number {
  const { filter, orderBy, thenBy } = given
  const conditions = filter == null ? 0 : (selection?.filter.countOf(filter) ?? 0)
  return rowsOfParent * (conditions + (orderBy == null && thenBy == null ? 0 : 1))
}
