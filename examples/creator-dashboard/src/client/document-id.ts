import type { DocumentNode } from 'graphql'

/** The id of an operation, which Codegen writes into its document. */
export function idOf(document: DocumentNode): string {
  return (document as DocumentNode & { readonly __meta__: { readonly hash: string } }).__meta__.hash
}
