import type { FieldError, FieldErrorCode } from '../errors.ts'
import { builder } from './builder.ts'

const descriptions: Record<FieldErrorCode, string> = {
  REQUIRED: 'The field must have a value.',
  INVALID_TYPE: 'The value is of another type than the field.',
  INVALID_FORMAT: 'The value is not written as it must be.',
  TOO_LONG: 'The value has too many characters.',
  OUT_OF_RANGE: 'The value is outside of what is allowed.',
  NOT_FOUND: 'Nothing of this tenant has that id.',
  CONFLICT: 'Something else is in the way: it has the same id, or is in another state.',
}

const UserErrorCode = builder.enumType('UserErrorCode', {
  description: 'Why an input was refused.',
  values: Object.fromEntries(
    Object.entries(descriptions).map(([code, description]) => [code, { description }]),
  ) as Record<FieldErrorCode, { description: string }>,
})

/** Something in a mutation's input that the caller can mend. */
export const UserError = builder.objectRef<FieldError>('UserError').implement({
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
