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
    /** The order that a client asks for, or the default. */
    read(input: { readonly field: unknown; readonly direction: Direction } | null | undefined): Order {
      const { field, direction } = input ?? byDefault
      return (own(fields, String(field)) as OrderField).by(direction)
    },
  }
}
