import { dataModel, type Model } from '../../db/data-model.ts'
import type { Prisma } from '../../db/generated/prisma/client.ts'
import { type Direction, type Order, type OrderBy, orderOf } from '../../db/read/order.ts'
import { own } from '../../own.ts'
import { builder } from './builder.ts'

const OrderDirection = builder.enumType('OrderDirection', {
  description: 'The direction of an order.',
  values: {
    ASC: { description: 'Smallest or oldest first.' },
    DESC: { description: 'Largest or newest first.' },
  } as const,
})

interface OrderField<M extends Model> {
  readonly description: string
  /** The order, as Prisma Client takes it. */
  readonly orderBy: (sort: Prisma.SortOrder) => OrderBy<M>
}

interface OrderInput {
  readonly field: string
  readonly direction: Direction
}

interface GivenOrder {
  readonly field: unknown
  readonly direction: Direction
}

/**
 * Defines the input type for the order of a list: `defineOrder('User', 'users', …)` ⇒ `UserOrder { field, direction }`.
 *
 * @param fields the values of `UserOrderField`, by name
 * @param byDefault the order without an input
 */
export function defineOrder<M extends Model>(
  model: M,
  plural: string,
  fields: Readonly<Record<string, OrderField<M>>>,
  byDefault: OrderInput,
) {
  // Pothos has types for the names of the models.
  const typename: string = model
  const FieldType = builder.enumType(`${typename}OrderField`, {
    description: `The fields by which ${plural} can be ordered. Ties are ordered by id.`,
    values: Object.fromEntries(Object.entries(fields).map(([name, { description }]) => [name, { description }])),
  })
  return {
    type: builder.inputType(`${typename}Order`, {
      description: `The order of a list of ${plural}.`,
      fields: (t) => ({
        field: t.field({ type: FieldType, required: true, description: 'The field to order by.' }),
        direction: t.field({ type: OrderDirection, required: true, description: 'The direction.' }),
      }),
    }),
    hasSeveral: Object.keys(fields).length > 1,
    /**
     * The order that a client asks for, or the default, and those of its ties. A field that comes a second time has no
     * effect.
     */
    orderBy(first: GivenOrder | null | undefined, ties?: readonly GivenOrder[] | null): object[] {
      const unique = new Map<string, object>()
      for (const { field, direction } of [first ?? byDefault, ...(ties ?? [])]) {
        const name = String(field)
        if (unique.has(name)) continue
        const { orderBy } = own(fields, name) as OrderField<M>
        unique.set(name, orderBy(direction === 'ASC' ? 'asc' : 'desc'))
      }
      return [...unique.values()]
    },
    /** The same, as positions in a list need it. */
    read(first: GivenOrder | null | undefined, ties?: readonly GivenOrder[] | null): Order {
      return orderOf(dataModel, model, this.orderBy(first, ties))
    },
  }
}
