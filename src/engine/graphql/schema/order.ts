import type { Direction, Order } from '../../db/read/order.ts'
import { own } from '../../own.ts'
import { builder } from './builder.ts'

const OrderDirection = builder.enumType('OrderDirection', {
  description: 'The direction of an order.',
  values: {
    ASC: { description: 'Smallest or oldest first.' },
    DESC: { description: 'Largest or newest first.' },
  } as const,
})

interface OrderField {
  readonly description: string
  readonly by: (direction: Direction) => Order
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
export function defineOrder(
  typename: string,
  plural: string,
  fields: Readonly<Record<string, OrderField>>,
  byDefault: OrderInput,
) {
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
    read(first: GivenOrder | null | undefined, ties?: readonly GivenOrder[] | null): Order {
      const unique = new Map<string, Order>()
      for (const { field, direction } of [first ?? byDefault, ...(ties ?? [])]) {
        const name = String(field)
        if (!unique.has(name)) unique.set(name, (own(fields, name) as OrderField).by(direction))
      }
      const [order, ...rest] = [...unique.values()] as [Order, ...Order[]]
      return rest.length > 0 ? { ...order, ties: rest } : order
    },
  }
}
