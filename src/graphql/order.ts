import { builder } from './builder.ts'

const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Which way a list is ordered.',
  values: {
    ASC: { description: 'Smallest or oldest first.' },
    DESC: { description: 'Largest or newest first.' },
  } as const,
})

/** Defines the input that orders a list: `defineOrder('User', 'users')` ⇒ `UserOrder { field, direction }`. */
export function defineOrder(noun: string, plural: string) {
  const OrderField = builder.enumType(`${noun}OrderField`, {
    description: `What ${plural} can be ordered by.`,
    values: { CREATED_AT: { description: 'When they were made; those of the same moment by id.' } },
  })
  return builder.inputType(`${noun}Order`, {
    description: `The order of a list of ${plural}.`,
    fields: (t) => ({
      field: t.field({ type: OrderField, required: true, description: 'What to order by.' }),
      direction: t.field({ type: OrderDirection, required: true, description: 'Which way.' }),
    }),
  })
}
