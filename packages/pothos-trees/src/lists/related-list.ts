import type { FieldScope } from '@fusion-gateway/base'
import { ownValue } from '@fusion-gateway/base'
import type { Model, RelatedRows } from '@fusion-gateway/prisma-trees'
import {
  maxPageSize,
  oldestFirst,
  type PageRequest,
  type Relation,
  relationTo,
  type SelectedRow,
  windowBeyond,
  windowOf,
} from '@fusion-gateway/prisma-trees'
import type { SchemaTypes } from '@pothos/core'
import { ObjectFieldBuilder, type PrismaModelTypes } from '@pothos/plugin-prisma'
import { type FieldCost, rowsOfParent } from '../field-metadata.ts'
import { dataModelOf } from '../options.ts'
import type { AppTypes, Context } from '../types.ts'
import { readPageSize, type Side, toConnection } from './connection.ts'
import type { OrderedList } from './cursor.ts'
import { choiceArguments, type List, type ListArguments, type ListChoices, readListArguments } from './list.ts'
import { nodeOf, oncePerField, type RelationQuery, type RelationQueryFunction } from './related-rows.ts'

// Lists of the rows that belong to another row. Their arguments restrict the relation that the field loads, so the
// planner finds the restricted relation in the selection, and reads it with the rows above (plan/planner.ts).

declare global {
  export namespace PothosSchemaTypes {
    interface PrismaObjectFieldBuilder<
      Types extends SchemaTypes,
      Model extends PrismaModelTypes,
      Shape extends object = Model['Shape'],
    > {
      /**
       * A field that pages through the rows of a relation of Prisma's schema, with the arguments of a list:
       * `t.relatedList('accounts', accounts, { … })`.
       *
       * @param options.description a phrase: `, in pages.` and the order by default are added
       */
      relatedList(
        relation: keyof Model['Relations'] & string,
        list: List,
        options: { readonly scope?: FieldScope; readonly description: string },
      ): FieldRef<Types, unknown, 'PrismaObject'>
    }
  }
}

type FieldBuilder = Parameters<typeof choiceArguments>[0]

/** The arguments of a relation: `first`, and what clients may choose of it. */
export function listArgs(t: FieldBuilder, choices: ListChoices) {
  return {
    first: t.arg.int({
      description: `The number of ${choices.plural} from the start of the list: 0–${maxPageSize}. All by default.`,
    }),
    ...choiceArguments(t, choices),
  }
}

/** The option `query` of a relation with these arguments. Without values of them it asks for all rows, oldest first. */
export function listQuery({ filter, order }: Omit<ListChoices, 'plural'>): RelationQueryFunction<ListArguments> {
  const query = ({ first, filter: values, orderBy, thenBy }: ListArguments, context: Context): RelationQuery => ({
    where: values == null ? undefined : filter?.whereOf(values, context),
    orderBy: order?.orderBy(orderBy, thenBy),
    take: first == null ? undefined : readPageSize({ first }).size,
  })
  return Object.assign(query, { isWholeWithoutArguments: true })
}

/** The option `cost` of a list of related rows: those of a parent that are read, and to which choices apply. */
export function listCost({ filter }: Omit<ListChoices, 'plural'>): FieldCost {
  return {
    extra({ filter: values, orderBy, thenBy }) {
      const conditions = values == null ? 0 : (filter?.countOf(values) ?? 0)
      return rowsOfParent * (conditions + (orderBy == null && thenBy == null ? 0 : 1))
    },
  }
}

type Rows = readonly SelectedRow<Model>[]

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

const fields = ObjectFieldBuilder as unknown as {
  readonly prototype: PothosSchemaTypes.PrismaObjectFieldBuilder<AppTypes, PrismaModelTypes>
}

fields.prototype.relatedList = function relatedList(this: typeof fields.prototype, name, of, { scope, description }) {
  const field = dataModelOf(this.builder)(this.model as Model).relationOf(name)
  if (!field) throw new Error(`${this.model}.${name} is no relation between rows of an owner`)
  const { from } = field
  const relation = relationTo(field) as Relation<Model, Rows>
  const readPage = oncePerField((args: ListArguments, context): NestedPage => {
    const { list, page, where } = readListArguments(args, of, context)
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
  return this.field({
    type: of.connection,
    scope,
    description: `${description}, in pages. ${of.order?.defaultOrder ?? 'Oldest first'} by default.`,
    args: { ...this.arg.connectionArgs(), ...choiceArguments(this, of) },
    cost: listCost(of),
    relation: { relation, from, restrict: (node, args, context) => readPage(node, args, context).rows },
    resolve(parent, args, context, info) {
      const { loaders } = context
      // Throws at once: a promise for each row that is rejected would take several times as long.
      const { list, page, rows, all, beyond } = readPage(nodeOf(info), () => args, context)
      const key = String(ownValue(parent, from))
      const hasBeyond = async (side: Side) => (await loaders.load(beyond[side](), key)).length > 0
      const count = () => loaders.countRelated(all(), key)
      const connect = (read: Rows) =>
        Object.assign(toConnection(list, page, read, hasBeyond), { count, estimate: count })
      const read = loaders.load(rows, key)
      return read instanceof Promise ? read.then(connect) : connect(read)
    },
  })
}

function once<Result>(work: () => Result): () => Result {
  let result: { readonly value: Result } | undefined
  return () => {
    result ??= { value: work() }
    return result.value
  }
}
