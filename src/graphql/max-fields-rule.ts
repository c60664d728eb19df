import { GraphQLError, type ValidationRule } from 'graphql'
import { countFields } from './count-fields.ts'

const maxFields = 5_000

/** Refuses operations that have too many fields once their fragments are put in their places. */
export const maxFieldsRule: ValidationRule = (context) => ({
  OperationDefinition(operation) {
    const fields = countFields(operation.selectionSet, (name) => context.getFragment(name))
    if (fields > maxFields) {
      const message = `The operation asks for more than ${maxFields} fields, its fragments put in their places.`
      context.reportError(new GraphQLError(message, { nodes: operation }))
    }
  },
})
