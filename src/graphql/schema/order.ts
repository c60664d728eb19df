import { builder } from './builder.ts'

const OrderDirection = builder.enumType('OrderDirection', {
  description: 'The direction of an order.',
  values: {
    ASC: { description: 'Smallest or oldest first.' },
    DESC: { description: 'Largest or newest first.' },
  } as const,
})

/** Defines the input type for the order of a list: `defineOrder('User', 'users')` ⇒ `UserOrder { field, direction }`. */
export function defineOrder(noun: string, plural: string) {
  const OrderField = builder.enumType(`${noun}OrderField`, {
    description: `The fields by which ${plural} can be ordered.`,
    values: { CREATED_AT: { description: 'The creation time. Ties are ordered by id.' } },
  })
  return builder.inputType(`${noun}Order`, {
    description: `The order of a list of ${plural}.`,
    fields: (t) => ({
      field: t.field({ type: OrderField, required: true, description: 'The field to order by.' }),
      direction: t.field({ type: OrderDirection, required: true, description: 'The direction.' }),
    }),
  })
}
