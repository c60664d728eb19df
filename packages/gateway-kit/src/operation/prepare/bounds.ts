import type { LimitName } from '@fusion-gateway/base'
import {
  type ASTNode,
  GraphQLError,
  Kind,
  Lexer,
  type SelectionSetNode,
  Source,
  TokenKind,
  type ValidationContext,
  type ValidationRule,
} from 'graphql'

/** An error of a document in the gateway's own words. They name nothing of the schema. */
export class DocumentError extends GraphQLError {}

class DocumentTooLarge extends DocumentError {
  readonly limit = 'document_size' satisfies LimitName
}

const maxCharacters = 100_000
const maxTokens = 2_000
const maxNesting = 200
const maxDepth = 12
const maxFields = 5_000
const maxFragments = 5_000
const maxAliases = 60

const opening = new Set<string>([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L])
const closing = new Set<string>([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R])

/**
 * Checks the size of a document before it is parsed. The parser calls itself for each bracket, so a deeply nested
 * document would exceed the stack.
 *
 * @returns the number of its tokens
 * @throws GraphQLError, a syntax error, for more than 100,000 characters, 2,000 tokens, or 200 nested brackets
 */
export function checkDocumentSize(text: string): number {
  const lexer = new Lexer(new Source(text))
  if (text.length > maxCharacters) throw tooLarge(lexer.source, 0, `More than ${maxCharacters} characters.`)
  let nesting = 0
  let tokens = 0
  for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance()) {
    tokens += 1
    if (opening.has(token.kind)) nesting += 1
    if (closing.has(token.kind)) nesting -= 1
    if (tokens > maxTokens) throw tooLarge(lexer.source, token.start, `More than ${maxTokens} tokens.`)
    if (nesting > maxNesting) throw tooLarge(lexer.source, token.start, `Nested more than ${maxNesting} deep.`)
  }
  return tokens
}

/** In the words of graphql-js for a syntax error. */
function tooLarge(source: Source, position: number, problem: string): DocumentTooLarge {
  return new DocumentTooLarge(`Syntax Error: ${problem}`, { source, positions: [position] })
}

/** The size of a selection whose fragments are inlined. */
interface Size {
  readonly fields: number
  /** The fragments that it spreads, and inline fragments. */
  readonly fragments: number
  readonly depth: number
}

const nothing: Size = { fields: 0, fragments: 0, depth: 0 }

/**
 * Rejects operations that are too deep or have too many fields or fragments, and documents with too many aliases.
 * Relations back to a parent multiply rows with each level, and each alias requests a field once more. Fragments take
 * time even if they add no fields: one field can be nested in a hundred of them.
 */
export const operationBoundsRule: ValidationRule = (context) => {
  const fragments = new Map<string, Size>()
  const report = (message: string, nodes: ASTNode) => context.reportError(new DocumentTooLarge(message, { nodes }))
  let aliases = 0
  return {
    OperationDefinition(operation) {
      const { depth, fields, fragments: spread } = sizeOf(context, operation.selectionSet, fragments)
      if (depth > maxDepth) report(`The query is nested more than ${maxDepth} fields deep.`, operation)
      if (fields > maxFields) {
        report(`The operation selects more than ${maxFields} fields after its fragments are inlined.`, operation)
      }
      if (spread > maxFragments) {
        report(`The operation has more than ${maxFragments} fragments after they are inlined.`, operation)
      }
    },
    Field({ alias }) {
      if (alias) aliases += 1
    },
    Document: {
      leave(node) {
        if (aliases > maxAliases) report(`The document has more than ${maxAliases} aliases.`, node)
      },
    },
  }
}

/**
 * Measures a selection. Each fragment is measured once: fragments that each spread the next one several times inline to
 * millions of fields. Introspection fields add no depth, because they are deep by nature and read no rows.
 */
function sizeOf(context: ValidationContext, { selections }: SelectionSetNode, fragments: Map<string, Size>): Size {
  let fields = 0
  let spread = 0
  let depth = 0
  for (const selection of selections) {
    const inner =
      selection.kind === Kind.FRAGMENT_SPREAD
        ? sizeOfFragment(context, selection.name.value, fragments)
        : selection.selectionSet
          ? sizeOf(context, selection.selectionSet, fragments)
          : nothing
    const isField = selection.kind === Kind.FIELD
    const isIntrospection = isField && selection.name.value.startsWith('__')
    fields += inner.fields + (isField ? 1 : 0)
    spread += inner.fragments + (isField ? 0 : 1)
    if (!isIntrospection) depth = Math.max(depth, inner.depth + (isField ? 1 : 0))
  }
  return { fields, fragments: spread, depth }
}

function sizeOfFragment(context: ValidationContext, name: string, fragments: Map<string, Size>): Size {
  const known = fragments.get(name)
  if (known) return known
  // Another rule rejects a fragment that spreads itself.
  fragments.set(name, nothing)
  const fragment = context.getFragment(name)
  const size = fragment ? sizeOf(context, fragment.selectionSet, fragments) : nothing
  fragments.set(name, size)
  return size
}
