import { ownValue } from '@fusion-gateway/base'
import type { Model } from '@fusion-gateway/prisma-trees'
import { type Direction, type Order, type OrderBy, orderOf, type SortDirection } from '@fusion-gateway/prisma-trees'
import SchemaBuilder, { type InputRef, type SchemaTypes } from '@pothos/core'
import { dataModelOf } from '../options.ts'
import { type AppTypes, shared } from '../types.ts'

interface OrderField<M extends Model> {
  readonly description: string
  /** The order, as Prisma Client takes it. */
  readonly orderBy: (sort: SortDirection) => OrderBy<M>
}

interface OrderOptions<M extends Model, Name extends string> {
  /** What is ordered: `users`. */
  readonly plural: string
  /** The values of `UserOrderField`, by name. */
  readonly fields: Readonly<Record<Name, OrderField<M>>>
  /** The order without an input, and in words. */
  readonly byDefault: { readonly field: NoInfer<Name>; readonly direction: Direction; readonly description: string }
}

declare global {
  export namespace PothosSchemaTypes {
    interface SchemaBuilder<Types extends SchemaTypes> {
      /**
       * Defines the order of a list: `builder.order('User', …)` ⇒ `UserOrder { field, direction }`.
       *
       * @throws Error for an order that no list can be paged in
       */
      order<const M extends Model, const Name extends string>(model: M, options: OrderOptions<M, Name>): ListOrder
    }
  }
}

interface GivenOrder {
  readonly field: string
  readonly direction: Direction
}

/** The order of a list: the input type, and what its values mean. */
export interface ListOrder {
  readonly type: InputRef<GivenOrder>
  /** Whether rows can be ordered by several fields. */
  readonly hasSeveral: boolean
  /** The order without an input, in words. */
  readonly defaultOrder: string
  /** The order that a client asks for, or the default, with those of its ties. Fields count once. */
  orderBy(first: GivenOrder | null | undefined, ties?: readonly GivenOrder[] | null): object[]
  /** The same, as positions in a list need it. */
  read(first: GivenOrder | null | undefined, ties?: readonly GivenOrder[] | null): Order
}

type Builder = PothosSchemaTypes.SchemaBuilder<AppTypes>

export const orderDirection = shared((builder) =>
  builder.enumType('OrderDirection', {
    description: 'The direction of an order.',
    values: {
      ASC: { description: 'Smallest or oldest first.' },
      DESC: { description: 'Largest or newest first.' },
    } as const,
  }),
)

const { prototype } = SchemaBuilder as { readonly prototype: Builder }

prototype.order = function order<M extends Model, Name extends string>(
  this: Builder,
  model: M,
  { plural, fields, byDefault }: OrderOptions<M, Name>,
): ListOrder {
  // Pothos has types for the names of the models.
  const typename: string = model
  const dataModel = dataModelOf(this)
  // Fails now, not at the first request, if an order is not supported.
  for (const { orderBy } of Object.values<OrderField<M>>(fields)) orderOf(dataModel, model, orderBy('asc'))
  const field = this.enumType(`${typename}OrderField`, {
    description: `The fields by which ${plural} can be ordered. Ties are ordered by id.`,
    values: Object.fromEntries(
      Object.entries<OrderField<M>>(fields).map(([name, { description }]) => [name, { description }]),
    ),
  })
  return {
    type: this.inputRef<GivenOrder>(`${typename}Order`).implement({
      description: `The order of a list of ${plural}.`,
      fields: (t) => ({
        field: t.field({ type: field, required: true, description: 'The field to order by.' }),
        direction: t.field({ type: orderDirection(this), required: true, description: 'The direction.' }),
      }),
    }),
    hasSeveral: Object.keys(fields).length > 1,
    defaultOrder: byDefault.description,
    orderBy(first, ties) {
      const unique = new Map<string, object>()
      for (const { field: name, direction } of [first ?? byDefault, ...(ties ?? [])]) {
        if (unique.has(name)) continue
        const { orderBy } = ownValue(fields, name as Name) as OrderField<M>
        unique.set(name, orderBy(direction === 'ASC' ? 'asc' : 'desc'))
      }
      return [...unique.values()]
    },
    read(first, ties) {
      return orderOf(dataModel, model, this.orderBy(first, ties))
    },
  }
}
