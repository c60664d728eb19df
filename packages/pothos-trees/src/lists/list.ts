import type { FieldScope } from '@fusion-gateway/base'
import type { Model } from '@fusion-gateway/prisma-trees'
import { oldestFirst } from '@fusion-gateway/prisma-trees'
import SchemaBuilder, {
  type FieldKind,
  type InputFieldMap,
  type ObjectRef,
  RootFieldBuilder,
  type SchemaTypes,
} from '@pothos/core'
import type { PrismaObjectRef } from '@pothos/plugin-prisma'
import type { ConnectionShape } from '@pothos/plugin-relay'
import { type FieldCost, pointsOfScan, pointsOfShortStatement, rowsOfParent } from '../field-metadata.ts'
import type { AppTypes, Context } from '../types.ts'
import { type ConnectionArguments, readPage, readPageRequest } from './connection.ts'
import type { CursorReader, OrderedList } from './cursor.ts'
import type { Filter, FilterValues } from './filter.ts'
import type { ListOrder } from './order.ts'
import { plannedLoaders } from './related-rows.ts'

/** What clients may choose of a list, and what it has, for descriptions. */
export interface ListChoices {
  /** The things in the list: `users`. */
  readonly plural: string
  /** Without it the list has neither `filter` nor `totalCount`. */
  readonly filter?: Filter
  /** Without it the list has no `orderBy`, and the oldest rows come first. */
  readonly order?: ListOrder
  /** Reads cursors of a further format: that of the builder by default (`trees.readCursor`). */
  readonly readCursor?: CursorReader | undefined
}

type Connection = ConnectionShape<AppTypes, unknown, false, false, false>

/** The rows of a model as a Relay connection, with what clients may choose. */
export interface List extends ListChoices {
  readonly model: Model
  readonly type: ObjectRef<AppTypes, unknown>
  readonly connection: ObjectRef<AppTypes, Connection>
}

interface ListFieldOptions {
  readonly scope?: FieldScope | undefined
  readonly description: string
}

// biome-ignore lint/suspicious/noExplicitAny: the rows and the model of any object.
type AnyPrismaObject<Types extends SchemaTypes> = PrismaObjectRef<Types, any, any>

declare global {
  export namespace PothosSchemaTypes {
    interface SchemaBuilder<Types extends SchemaTypes> {
      /** Defines the connection of a model's rows: `builder.list(User, { plural: 'users', … })` ⇒ `UserConnection`. */
      list(type: AnyPrismaObject<Types>, choices: ListChoices): List
    }

    interface RootFieldBuilder<Types extends SchemaTypes, ParentShape, Kind extends FieldKind> {
      /**
       * A field with all rows of a list that the viewer may see, in pages: `users(first, last, after, before, filter,
       * orderBy, thenBy): UserConnection`.
       *
       * @param options.description a sentence: the order by default is added
       */
      list(list: List, options: ListFieldOptions): FieldRef<AppTypes, unknown, Kind>
    }
  }
}

type Builder = PothosSchemaTypes.SchemaBuilder<AppTypes>
type Fields = PothosSchemaTypes.RootFieldBuilder<AppTypes, unknown, FieldKind>

const builder = SchemaBuilder as { readonly prototype: Builder }

builder.prototype.list = function list(this: Builder, type, { plural, ...choices }) {
  const model = type.modelName as Model
  const connection = this.connectionObject(
    {
      type,
      name: `${model}Connection`,
      scope: 'inherited',
      description: `A page of ${plural}.`,
      fields: (t) => (choices.filter ? totals(t, plural) : {}),
    },
    { name: `${model}Edge`, scope: 'inherited', description: `One of the ${plural} and its cursor.` },
  )
  return { model, type, plural, connection, readCursor: this.options.trees.readCursor, ...choices }
}

/** A connection whose whole list can be counted. */
interface Counted {
  count(): Promise<number>
  estimate(): Promise<number | null>
}

function totals(t: PothosSchemaTypes.ObjectFieldBuilder<AppTypes, object>, plural: string) {
  return {
    totalCount: t.int({
      description: `The number of ${plural} in the whole list. It is counted only if requested.`,
      cost: { extra: (_, isOfRoot) => (isOfRoot ? pointsOfScan : rowsOfParent) },
      resolve: (parent) => (parent as Counted).count(),
    }),
    totalCountEstimate: t.int({
      nullable: true,
      description: `About the number of ${plural} in the whole list, as the database estimates it without counting. It can be off by a multiple. Null if the filter has a condition on a text or an id. Below another object it is the exact number.`,
      cost: { extra: (_, isOfRoot) => (isOfRoot ? pointsOfShortStatement : rowsOfParent) },
      isUnlogged: true,
      resolve: (parent) => (parent as Counted).estimate(),
    }),
  }
}

const fields = RootFieldBuilder as { readonly prototype: Fields }

fields.prototype.list = function list(this: Fields, of, { scope, description }) {
  const { model, type, connection, order } = of
  return this.connection(
    {
      type,
      scope,
      description: `${description} ${order ? `${order.defaultOrder} by default.` : 'Oldest first.'}`,
      root: { model },
      cost: costOfList(of),
      args: choiceArguments(this, of),
      resolve: async (_, args, context, info) => {
        const { list, page, where } = readListArguments(args, of, context)
        const loaders = plannedLoaders(context, info)
        return Object.assign(await readPage(loaders, model, list, page, where), {
          count: () => loaders.count(model, where),
          estimate: () => loaders.estimate(model, where),
        })
      },
    },
    connection,
  )
}

/** What a list costs besides its nodes: the search for them. */
export function costOfList({ filter }: ListChoices): FieldCost {
  return {
    extra: ({ filter: values, thenBy }) =>
      [thenBy ?? []].flat().length > 0 || filter?.isScan((values ?? {}) as FilterValues) ? pointsOfScan : 0,
  }
}

export interface ListArguments extends ConnectionArguments {
  readonly filter?: FilterValues | null
  readonly orderBy?: Parameters<ListOrder['read']>[0]
  readonly thenBy?: Parameters<ListOrder['read']>[1]
}

/**
 * The rows that the arguments of a list ask for.
 *
 * @throws GatewayError BAD_USER_INPUT, or FORBIDDEN for a condition whose scope the viewer lacks
 */
export function readListArguments(
  { filter: values, orderBy, thenBy, ...window }: ListArguments,
  { plural, filter, order, readCursor }: ListChoices,
  context: Context,
) {
  const list: OrderedList = { name: plural, order: order?.read(orderBy, thenBy) ?? oldestFirst, readCursor }
  const page = readPageRequest(window, list)
  return { list, page, where: filter?.whereOf(values ?? {}, context) ?? {} }
}

export function choiceArguments(t: Pick<Fields, 'arg'>, { plural, filter, order }: ListChoices): InputFieldMap {
  return {
    ...(filter && { filter: t.arg({ type: filter.type, description: `Selects ${plural}. All by default.` }) }),
    ...(order && { orderBy: t.arg({ type: order.type, description: `The order. ${order.defaultOrder} by default.` }) }),
    ...(order?.hasSeveral && {
      thenBy: t.arg({
        type: [order.type],
        description: `The order of those that are equal by \`orderBy\`, and so on. By id at last, in the direction of \`orderBy\`.`,
      }),
    }),
  }
}
