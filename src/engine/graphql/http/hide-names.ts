const builtIn = ['ID', 'Int', 'Float', 'String', 'Boolean', '__typename']

/**
 * A message of graphql-js without names that the client has not sent. graphql-js can leave out suggestions of similar names
 * (`hideSuggestions`), but it names the types of fields and arguments, and repeats the client's values, in which anything can
 * look like a name.
 *
 * `Cannot query field "nam" on type "User".` ⇒ `Cannot query field "nam" on type "…".`
 *
 * @param isSent whether the client has sent a name
 */
export function hideNames(message: string, isSent: (name: string) => boolean): string {
  const variable = /^Variable "(\$\w+)" got invalid value /.exec(message)?.[1]
  if (variable !== undefined) return `Variable "${variable}" got an invalid value; ${reasonOf(message, isSent)}`
  return (
    message
      // The client's own value follows.
      .replace(/, found .*/su, '.')
      .replace(/ cannot represent .*/su, ' cannot represent the value.')
      .replace(/"([^"]*)"/gu, (quoted, inner: string) => (areSent(inner, isSent) ? quoted : '"…"'))
      .replace(/"[^"]*…$/u, '"…')
      .replace(/\w+(?= cannot represent)/gu, (name) => (isSent(name) ? name : 'A scalar'))
  )
}

/** Why a variable was rejected. The end of the message is graphql-js's; the client's value precedes it. */
function reasonOf(message: string, isSent: (name: string) => boolean): string {
  const unknown = /; Field "(\w+)" is not defined by type "\w+"\.(?: Did you mean [^;]*)?$/.exec(message)?.[1]
  if (unknown !== undefined && isSent(unknown)) return `the field "${unknown}" is unknown.`
  if (/ was not provided\.$/.test(message)) return 'a required field is missing.'
  return 'it has the wrong type.'
}

/** The names in a text. */
export function namesIn(text: string): ReadonlySet<string> {
  return new Set([...builtIn, ...(text.match(names) ?? [])])
}

const names = /[_A-Za-z]\w*/gu

function areSent(text: string, isSent: (name: string) => boolean): boolean {
  return (text.match(names) ?? []).every(isSent)
}
