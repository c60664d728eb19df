import { Lexer, Source, syntaxError, TokenKind } from 'graphql'

/** Far above what a person or a client writes. */
const maxCharacters = 100_000
const maxTokens = 2_000
const maxNesting = 200

const opening = new Set<string>([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L])
const closing = new Set<string>([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R])

/**
 * Looks at a document token by token before it is parsed: the parser calls itself for every bracket, and one that is
 * nested deep enough would be deeper than the stack.
 *
 * @throws GraphQLError, a syntax error, for more than 100,000 characters, 2,000 tokens or more than 200 brackets within each other
 */
export function checkDocumentBounds(text: string): void {
  const lexer = new Lexer(new Source(text))
  if (text.length > maxCharacters) throw syntaxError(lexer.source, 0, `More than ${maxCharacters} characters.`)
  let nesting = 0
  let tokens = 0
  for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance()) {
    tokens += 1
    if (opening.has(token.kind)) nesting += 1
    if (closing.has(token.kind)) nesting -= 1
    if (tokens > maxTokens) throw syntaxError(lexer.source, token.start, `More than ${maxTokens} tokens.`)
    if (nesting > maxNesting) throw syntaxError(lexer.source, token.start, `Nested more than ${maxNesting} deep.`)
  }
}
