import { type DocumentNode, getOperationAST, OperationTypeNode } from 'graphql'
import type { GraphQLParams } from './params.ts'

/** A document that was parsed and found valid, and the operation of it that is asked for. */
export interface KnownOperation {
  readonly document: DocumentNode
  readonly name: string | undefined
}

/** Documents that were parsed and validated before, by their text. */
export interface KnownOperations {
  /** Notes a document that Yoga has parsed and validated. */
  add(text: string, document: DocumentNode): void
  /** The query or mutation that is asked for; undefined when Yoga is to look at it first. */
  find(params: GraphQLParams): KnownOperation | undefined
}

/** As many as Yoga keeps; and longer ones are seldom sent. */
const maxDocuments = 1024
const maxLength = 20_000

/** Keeps the documents that were asked for last. */
export function createKnownOperations(): KnownOperations {
  const documents = new Map<string, DocumentNode>()

  function keep(text: string, document: DocumentNode): void {
    // The oldest goes first: a map keeps the order in which its keys came.
    documents.delete(text)
    if (documents.size >= maxDocuments) documents.delete(documents.keys().next().value ?? '')
    documents.set(text, document)
  }

  return {
    add(text, document) {
      if (text.length <= maxLength) keep(text, document)
    },
    find({ query = '', operationName }) {
      const document = documents.get(query)
      const operation = document && getOperationAST(document, operationName)
      if (!document || !operation || operation.operation === OperationTypeNode.SUBSCRIPTION) return undefined
      keep(query, document)
      return { document, name: operation.name?.value }
    },
  }
}
