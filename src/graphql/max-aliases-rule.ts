import { GraphQLError, type ValidationRule } from 'graphql'

const maxAliases = 60

/** Refuses documents with too many aliases: each asks for the same field once more. */
export const maxAliasesRule: ValidationRule = (context) => {
  let aliases = 0
  return {
    Field({ alias }) {
      if (alias) aliases += 1
    },
    Document: {
      leave(node) {
        if (aliases > maxAliases) {
          context.reportError(new GraphQLError(`The document has more than ${maxAliases} aliases.`, { nodes: node }))
        }
      },
    },
  }
}
