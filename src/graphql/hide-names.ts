const builtIn = ['ID', 'Int', 'Float', 'String', 'Boolean', '__typename']

/**
 * A message about a document without what the caller has not said: GraphQL's own messages suggest names that are near,
 * and name the types of fields and arguments.
 *
 * `Cannot query field "nam" on type "User". Did you mean "name"?` ⇒ `Cannot query field "nam" on type "…".`
 *
 * @param said the names in what the caller has sent
 */
export function hideNames(message: string, said: ReadonlySet<string>): string {
  return message
    .replace(/ Did you mean .*\?/su, '')
    .replace(/"([^"]*)"/gu, (quoted, inner: string) => (isSaid(inner, said) ? quoted : '"…"'))
    .replace(/(?<=^|; )(\w+)(?= cannot represent)/gu, (name: string) => (isSaid(name, said) ? name : 'The field'))
}

/** Every name in a text. */
export function namesIn(text: string): ReadonlySet<string> {
  return new Set([...builtIn, ...(text.match(names) ?? [])])
}

const names = /[_A-Za-z]\w*/gu

function isSaid(text: string, said: ReadonlySet<string>): boolean {
  return (text.match(names) ?? []).every((name) => said.has(name))
}
