import type { ObjectRef } from '@pothos/core'
import type { Scope } from '../../auth/scopes.ts'
import type { Context } from '../../context.ts'
import type { Model } from '../../db/data-model.ts'
import { oldestFirst } from '../../db/read/order.ts'
import { builder } from './builder.ts'
import { type ConnectionArguments, readPage, readPageRequest } from './connection.ts'
import type { OrderedList } from './cursor.ts'
import { type FieldCost, pointsOfScan, pointsOfShortStatement, rowsOfParent } from './field-metadata.ts'
import type { Filter, FilterValues } from './filter.ts'
import type { defineOrder } from './order.ts'

type Types = (typeof builder)['$inferSchemaTypes']

/** A connection whose whole list can be counted. */
interface Counted {
  count(): Promise<number>
  estimate(): Promise<number | null>
}

interface ListOptions {
  readonly model: Model
  readonly type: ObjectRef<Types, unknown>
  /** The things in the list: `users`. */
  readonly plural: string
  readonly scope: Scope
  readonly description: string
  /**
   * The filter and the order. Without it the list has neither `filter` nor `orderBy` nor `totalCount`, and the oldest
   * rows come first.
   */
  readonly selection?: ListSelection
}

export interface ListSelection {
  readonly filter: Filter
  readonly order: ReturnType<typeof defineOrder>
  /** The order without the argument `orderBy`, in words. */
  readonly defaultOrder: string
}

/**
 * Defines a query field that lists the rows of a model, as a Relay connection with a filter, an order and `totalCount`:
 * `defineList('users', { model: 'User', … })` ⇒ `users(first, last, after, before, filter, orderBy): UserConnection`.
 *
 * @returns the type of the connection, for lists of the same rows elsewhere (relation-fields.ts)
 */
export function defineList(name: string, { model, type, plural, scope, description, selection }: ListOptions) {
  const connection = defineConnection({ model, type, plural, selection })
  const order = selection ? `${selection.defaultOrder} by default.` : 'Oldest first.'

  builder.queryField(name, (t) =>
    t.connection(
      {
        type,
        scope,
        description: `${description} ${order}`,
        root: { model },
        cost: costOfList(selection),
        args: selection === undefined ? {} : selectionArguments(t, plural, selection),
        resolve: async (_, args, context) => {
          // TypeScript does not follow the types of arguments that a list may lack.
          const { list, page, where } = readListArguments(args as ListArguments, { plural, selection }, context)
          const { loaders } = context
          const count = () => loaders.count(model, where)
          const estimate = () => loaders.estimate(model, where)
          return { ...(await readPage(loaders, model, list, page, where)), count, estimate } as never
        },
      },
      connection,
    ),
  )
  return connection
}

/** What a list costs besides its nodes: the search for them. */
export function costOfList(selection: ListSelection | undefined): FieldCost {
  return {
    extra: ({ filter, thenBy }) =>
      [thenBy ?? []].flat().length > 0 || selection?.filter.isScan((filter ?? {}) as FilterValues) ? pointsOfScan : 0,
  }
}

export interface ListArguments extends ConnectionArguments {
  readonly filter?: FilterValues | null
  readonly orderBy?: never
  readonly thenBy?: never
}

/**
 * The rows that the arguments of a list ask for.
 *
 * @throws GatewayError BAD_USER_INPUT, or FORBIDDEN for a condition whose scope the viewer lacks
 */
export function readListArguments(
  args: ListArguments,
  { plural, selection }: { readonly plural: string; readonly selection?: ListSelection | undefined },
  context: Context,
) {
  const order = selection?.order.read(args.orderBy, args.thenBy) ?? oldestFirst
  const list: OrderedList = { name: plural, order, isUnnamed: context.hasPreviousRelease }
  const page = readPageRequest(args, list)
  return { list, page, where: selection?.filter.whereOf(args.filter ?? {}, context) ?? {} }
}

type FieldBuilder = Pick<Parameters<Parameters<typeof builder.queryField>[1]>[0], 'arg'>

export function selectionArguments(t: FieldBuilder, plural: string, { filter, order, defaultOrder }: ListSelection) {
  return {
    filter: t.arg({ type: filter.type, description: `Selects ${plural}. All by default.` }),
    orderBy: t.arg({ type: order.type, description: `The order. ${defaultOrder} by default.` }),
    ...(order.hasSeveral && {
      thenBy: t.arg({
        type: [order.type],
        description: `The order of those that are equal by \`orderBy\`, and so on. By id at last, in the direction of \`orderBy\`.`,
      }),
    }),
  }
}

function defineConnection({
  model,
  type,
  plural,
  selection,
}: Pick<ListOptions, 'model' | 'type' | 'plural'> & { readonly selection: ListSelection | undefined }) {
  return builder.connectionObject(
    {
      type,
      name: `${model}Connection`,
      scope: 'inherited',
      description: `A page of ${plural}.`,
      fields: (connection) =>
        selection === undefined
          ? {}
          : {
              totalCount: connection.int({
                description: `The number of ${plural} in the whole list. It is counted only if requested.`,
                cost: { extra: (_, isOfRoot) => (isOfRoot ? pointsOfScan : rowsOfParent) },
                resolve: (parent) => (parent as typeof parent & Counted).count(),
              }),
              totalCountEstimate: connection.int({
                nullable: true,
                description: `About the number of ${plural} in the whole list, as the database estimates it without counting. It can be off by a multiple. Null if the filter has a condition on a text or an id. Below another object it is the exact number.`,
                cost: { extra: (_, isOfRoot) => (isOfRoot ? pointsOfShortStatement : rowsOfParent) },
                isUnlogged: true,
                resolve: (parent) => (parent as typeof parent & Counted).estimate(),
              }),
            },
    },
    { name: `${model}Edge`, scope: 'inherited', description: `One of the ${plural} and its cursor.` },
  )
}
