import type { ObjectRef } from '@pothos/core'
import type { Scope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import type { Model, Row } from '../../db/data-model.ts'
import type { Loaders } from '../../db/read/loaders.ts'
import type { RelatedRows } from '../../db/read/nested-list.ts'
import { oldestFirst } from '../../db/read/order.ts'
import { maxPageSize, type PageRequest, windowBeyond, windowOf } from '../../db/read/page.ts'
import type { Relation, SelectedRow } from '../../db/read/relation.ts'
import { own } from '../../own.ts'
import { builder } from './builder.ts'
import { readPageRequest, readPageSize, type Side, toConnection } from './connection.ts'
import type { OrderedList } from './cursor.ts'
import { type FieldCost, rowsOfParent } from './field-metadata.ts'
import { type defineList, type ListArguments, type ListSelection, selectionArguments } from './list.ts'
import { nodeOf, oncePerField, type RelationQuery } from './related-rows.ts'

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

interface NestedConnectionOptions extends NestedOptions {
  readonly type: ReturnType<typeof defineList>
  readonly selection: ListSelection
}

/** The id of a row from which a relation starts. */
function keyOf(row: unknown, from: string): string {
  return String(own(row as object, from))
}

/** A list that belongs to a row: what it has, for descriptions, and its filter and order, if clients may choose. */
interface NestedList {
  /** The things in the list: `accounts`. */
  readonly plural: string
  readonly selection?: ListSelection
}

type FieldBuilder = Parameters<typeof selectionArguments>[0]

/** The arguments of a list of related rows: `first`, and with a selection `filter`, `orderBy` and `thenBy`. */
export function listArgs(t: FieldBuilder, { plural, selection }: NestedList) {
  return {
    first: t.arg.int({
      description: `The number of ${plural} from the start of the list: 0–${maxPageSize}. All by default.`,
    }),
    ...(selection && selectionArguments(t, plural, selection)),
  }
}

/** The option `query` of a relation with these arguments. Without values of them it asks for all rows, oldest first. */
export function listQuery({ selection }: Pick<NestedList, 'selection'>) {
  const query = (given: object, context: Context): RelationQuery => {
    const { first, filter, orderBy, thenBy } = given as ListArguments
    return {
      where: filter == null ? undefined : selection?.filter.whereOf(filter, context),
      orderBy: selection?.order.orderBy(orderBy, thenBy),
      take: first == null ? undefined : readPageSize({ first }).size,
    }
  }
  return Object.assign(query as never as (args: object, context: Context) => object, { isWholeWithoutArguments: true })
}

/** The option `cost` of a list of related rows. */
export function listCost({ selection }: Pick<NestedList, 'selection'>): FieldCost {
  return { extra: (args) => pointsOf(selection, args) }
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
  const readPage = oncePerField((args: ListArguments, context): NestedPage => {
    const list = { name: plural, order: selection.order.read(args.orderBy, args.thenBy) }
    const page = readPageRequest(args, list)
    const where = selection.filter.whereOf(args.filter ?? {}, context)
    const restrict = (rows: Omit<RelatedRows, 'where'>) => context.loaders.restrict(relation, { where, ...rows })
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
 * The points for the rows of a parent that are read and not returned: those to which conditions and orders apply.
 */
function pointsOf(selection: ListSelection | undefined, given: Readonly<Record<string, unknown>>): number {
  const { filter, orderBy, thenBy } = given
  const conditions = filter == null ? 0 : (selection?.filter.countOf(filter) ?? 0)
  return rowsOfParent * (conditions + (orderBy == null && thenBy == null ? 0 : 1))
}
