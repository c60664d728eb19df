import { GraphQLError } from 'graphql'

/** An error of a document in the gateway's own words. They name nothing of the schema. */
export class DocumentError extends GraphQLError {}
