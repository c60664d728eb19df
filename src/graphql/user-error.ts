import type { FieldError, FieldErrorCode } from '../errors.ts'
import { builder } from './builder.ts'

const UserErrorCode = builder.enumType('UserErrorCode', {
  description: 'Why an input was refused.',
  values: {
    REQUIRED: { description: 'The field must have a value.' },
    INVALID_TYPE: { description: 'The value is of another type than the field.' },
    INVALID_FORMAT: { description: 'The value is not written as it must be.' },
    TOO_LONG: { description: 'The value is too long, or has too many entries.' },
    OUT_OF_RANGE: { description: 'The value is outside of what is allowed.' },
    NOT_FOUND: { description: 'Nothing of this tenant has that id.' },
    CONFLICT: { description: 'Something else is in the way: it has the same id, or is in another state.' },
  } satisfies Record<FieldErrorCode, { description: string }>,
})

/** Something in a mutation's input that the caller can mend. */
export const UserError = builder.objectRef<FieldError>('UserError').implement({
  scope: 'inherited',
  description: 'Something in the input that the caller can mend. Nothing was written.',
  fields: (t) => ({
    code: t.field({ type: UserErrorCode, description: 'Why it was refused.', resolve: ({ code }) => code }),
    message: t.exposeString('message', { description: 'What is wrong, in words.' }),
    field: t.stringList({
      nullable: true,
      description: 'The path of the field within the input.',
      resolve: ({ field }) => field.split('.'),
    }),
  }),
})
