import { GraphQLError } from 'graphql'

/** The rejection of an argument. */
export function inputError(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } })
}

/** The rejection of a holder who lacks a scope. */
export function forbidden(scope: string): GraphQLError {
  return new GraphQLError(`This needs the scope ${scope}.`, { extensions: { code: 'FORBIDDEN' } })
}
