import type { ObjectRef } from '@pothos/core'
import type { Scope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import type { Model } from '../../db/data-model.ts'
import type { Condition } from '../../db/read/list.ts'
import type { Loaders } from '../../db/read/loaders.ts'
import { oldestFirst } from '../../db/read/nested-list.ts'
import { type PageRequest, type Window, windowOf } from '../../db/read/page.ts'
import type { Relation, SelectedRow } from '../../db/read/relation.ts'
import { own } from '../../own.ts'
import { builder } from './builder.ts'
import { type ConnectionArguments, maxPageSize, readPageRequest, readPageSize, toConnection } from './connection.ts'
import type { OrderedList } from './cursor.ts'
import { rowsOfParent } from './field-metadata.ts'
import type { FilterValues } from './filter.ts'
import { type defineList, type ListSelection, selectionArguments } from './list.ts'

// Lists of the rows that belong to another row. Their arguments restrict the relation that the field loads, so the
// planner finds the restricted relation in the selection, and reads it with the rows above (operation/prepare/plan.ts).

type Types = (typeof builder)['$inferSchemaTypes']
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
  readonly isWithheld?: boolean
}

interface NestedConnectionOptions extends NestedOptions {
  readonly type: ReturnType<typeof defineList>
  readonly selection: ListSelection
}

interface NestedArguments extends ConnectionArguments {
  readonly filter?: FilterValues | null
  readonly orderBy?: never
  readonly thenBy?: never
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
  const { type, relation, from, plural, scope, description, selection, length, isWithheld = false } = options
  const restrictTo = oncePerArguments((args, context): Relation<Model, Rows> => {
    const limit = args.first == null ? undefined : readPageSize({ first: args.first }).size
    const order = selection?.order.read(args.orderBy, args.thenBy) ?? oldestFirst
    const conditions = selection?.filter.conditionsOf(args.filter ?? {}, context) ?? []
    const isWhole = conditions.length === 0 && limit === undefined
    // An order has functions, which are not compared.
    if (isWhole && JSON.stringify(order) === JSON.stringify(oldestFirst)) return relation
    return context.loaders.restrict(relation, { conditions, order, direction: order.direction, limit })
  })
  // Most requests give none. This is the time of a small query that counts.
  const restrict = (args: object, context: Context) =>
    Object.values(args).some((value) => value != null) ? restrictTo(args, context) : relation
  builder.objectField(owner, name, (t) =>
    t.field({
      type: [type],
      scope,
      isWithheld,
      description: `${description}, oldest first.`,
      args: {
        first: t.arg.int({
          description: `The number of ${plural} from the start of the list: 0–${maxPageSize}. All by default.`,
        }),
        ...(selection && selectionArguments(t, plural, selection)),
      },
      cost: { ...(length !== undefined && { length }), extra: (args) => pointsOf(selection, args) },
      relation: { relation, from, restrict },
      resolve: (parent, args, context) => context.loaders.load(restrict(args, context), keyOf(parent, from)) as never,
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
  const readPage = oncePerArguments((args, context): NestedPage => {
    const list = { name: plural, order: selection.order.read(args.orderBy, args.thenBy) }
    const page = readPageRequest(args, list)
    const conditions = selection.filter.conditionsOf(args.filter ?? {}, context)
    return { list, page, conditions, rows: context.loaders.restrict(relation, { conditions, ...windowOf(page) }) }
  })
  builder.objectField(owner, name, (t) =>
    t.field({
      type,
      scope,
      description: `${description}, in pages. Oldest first by default.`,
      args: { ...t.arg.connectionArgs(), ...selectionArguments(t, plural, selection) },
      cost: { extra: (args) => pointsOf(selection, args) },
      relation: { relation, from, restrict: (args, context) => readPage(args, context).rows },
      resolve: async (parent, args, context) => {
        const { loaders } = context
        const { list, page, conditions, rows } = readPage(args, context)
        const key = keyOf(parent, from)
        const hasRow = async (window: Window) =>
          (await loaders.load(loaders.restrict(relation, { conditions, ...window }), key)).length > 0
        const count = () =>
          loaders.countRelated(loaders.restrict(relation, { conditions, order: oldestFirst, direction: 'ASC' }), key)
        return { ...toConnection(list, page, await loaders.load(rows, key), hasRow), count, estimate: count } as never
      },
    }),
  )
}

/** A page of a nested list, without the key of its parent. */
interface NestedPage {
  readonly list: OrderedList
  readonly page: PageRequest
  readonly conditions: readonly Condition[]
  /** The relation that returns the rows of the page. */
  readonly rows: Relation<Model, Rows>
}

/**
 * Remembers what arguments mean in a request. Each parent has the same arguments, and reading a filter takes longer
 * than comparing it.
 */
function oncePerArguments<Result>(read: (args: NestedArguments, context: Context) => Result) {
  const ofRequest = new WeakMap<Loaders, Map<string, Result>>()
  return (args: object, context: Context): Result => {
    const known = ofRequest.get(context.loaders) ?? new Map<string, Result>()
    ofRequest.set(context.loaders, known)
    const key = JSON.stringify(args)
    const result = known.get(key) ?? read(args, context)
    known.set(key, result)
    return result
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
