// A comment, a text in dollars, a text, an identifier, the end of a statement, or anything else.
const tokens = /--[^\n]*|\/\*[\s\S]*?\*\/|\$(\w*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'|"[^"]*"|;|[\s\S]/g

/**
 * Splits a script into its statements, without comments between and in them. Bodies of functions must be quoted:
 * `BEGIN ATOMIC` is not understood.
 */
export function splitScript(script: string): string[] {
  const statements = ['']
  for (const [token] of script.matchAll(tokens)) {
    if (token === ';') statements.push('')
    else if (!token.startsWith('--') && !token.startsWith('/*')) statements.push(`${statements.pop()}${token}`)
  }
  return statements.map((text) => text.trim()).filter((text) => text !== '')
}
