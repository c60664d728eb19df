import type { FieldError, FieldErrorCode } from '../../errors.ts'
import { builder } from './builder.ts'

const UserErrorCode = builder.enumType('UserErrorCode', {
  description: 'Why a field of an input was rejected.',
  values: {
    REQUIRED: { description: 'The field must have a value.' },
    INVALID_TYPE: { description: 'The value has the wrong type.' },
    INVALID_FORMAT: { description: 'The value has the wrong format.' },
    TOO_LONG: { description: 'The value is too long or has too many entries.' },
    OUT_OF_RANGE: { description: 'The value is outside of the allowed range.' },
    NOT_FOUND: { description: 'No object of this tenant has this id.' },
    CONFLICT: { description: 'Another object has the same id or key, or the object is in another state.' },
  } satisfies Record<FieldErrorCode, { description: string }>,
})

/** An error in the input of a mutation that the client can fix. */
export const UserError = builder.objectRef<FieldError>('UserError').implement({
  scope: 'inherited',
  description: 'An error in the input that the client can fix. Nothing was written.',
  fields: (t) => ({
    code: t.field({ type: UserErrorCode, description: 'Why the field was rejected.', resolve: ({ code }) => code }),
    message: t.exposeString('message', { description: 'The error in words.' }),
    field: t.stringList({
      nullable: true,
      description: 'The path of the field in the input.',
      resolve: ({ field }) => field.split('.'),
    }),
  }),
})
