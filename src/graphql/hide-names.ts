const builtIn = ['ID', 'Int', 'Float', 'String', 'Boolean', '__typename']

/**
 * A message about a document without what the caller has not said: GraphQL's own messages suggest names that are near,
 * name the types of fields and arguments, and repeat the caller's values, in which anything may look like a name.
 *
 * `Cannot query field "nam" on type "User". Did you mean "name"?` ⇒ `Cannot query field "nam" on type "…".`
 *
 * @param said the names in what the caller has sent
 */
export function hideNames(message: string, said: ReadonlySet<string>): string {
  const variable = /^Variable "(\$\w+)" got invalid value /.exec(message)?.[1]
  if (variable !== undefined) return `Variable "${variable}" got an invalid value; ${reasonOf(message, said)}`
  return (
    message
      .replace(/ Did you mean .*/su, '')
      // What follows is the caller's own value.
      .replace(/, found .*/su, '.')
      .replace(/ cannot represent .*/su, ' cannot represent the value.')
      .replace(/"([^"]*)"/gu, (quoted, inner: string) => (isSaid(inner, said) ? quoted : '"…"'))
      .replace(/"[^"]*…$/u, '"…')
      .replace(/\w+(?= cannot represent)/gu, (name) => (isSaid(name, said) ? name : 'A scalar'))
  )
}

/** Why a variable was refused. The end of the message is GraphQL's, what is before it the caller's value. */
function reasonOf(message: string, said: ReadonlySet<string>): string {
  const unknown = /; Field "(\w+)" is not defined by type "\w+"\.(?: Did you mean [^;]*)?$/.exec(message)?.[1]
  if (unknown !== undefined && isSaid(unknown, said)) return `the field "${unknown}" is not known.`
  if (/ was not provided\.$/.test(message)) return 'a field that is required is missing.'
  return 'it is of another type.'
}

/** Every name in a text. */
export function namesIn(text: string): ReadonlySet<string> {
  return new Set([...builtIn, ...(text.match(names) ?? [])])
}

const names = /[_A-Za-z]\w*/gu

function isSaid(text: string, said: ReadonlySet<string>): boolean {
  return (text.match(names) ?? []).every((name) => said.has(name))
}
