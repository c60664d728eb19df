/** A change of the script, as found in its minified text. */
type Change = readonly [name: string, found: RegExp, replacement: string]

const changes: readonly Change[] = [
  // A tab contains no second control for keyboards: its close button is for the mouse, and the key Delete closes it.
  ['an item of the tab list', /"aria-selected":\w+,dragElastic:!1,role:"tab"/, 'dragElastic:!1,role:"presentation"'],
  [
    'a tab',
    /isActive:(\w+===\w+),(children:\[\w+\.jsx\(\w+\.Button,\{)(?="aria-controls":"graphiql-session")/,
    'isActive:$1,$2role:"tab","aria-selected":$1,"aria-keyshortcuts":"Delete",tabIndex:$1?0:-1,',
  ],
  [
    'the dark theme, whose comments have too little contrast',
    /(?<=\{token:"argument\.identifier\.gql",foreground:"#908aff"\})/,
    ',{token:"comment",foreground:"#8fb87f"}',
  ],
  ['a close button', /"aria-label":"Close Tab"/, '"aria-hidden":!0,tabIndex:-1,title:"Close (Delete)"'],
]

/**
 * Adapts the script of Yoga's GraphiQL where its options do not reach: the history, which it contains and does not
 * show, and tabs for keyboards and screen readers.
 *
 * @throws Error if the script of another version differs
 */
export function adaptScript(script: string): string {
  const [, history = ''] = /(\w+)=\{title:"History",/.exec(script) ?? []
  const plugins: Change = ['the list of plugins', /(?<=plugins:\[\w+)(?=\],schemaDescription:)/, `,${history}`]
  return [plugins, ...changes].reduce((text, [name, found, replacement]) => {
    if (!found.test(text) || history === '') throw new Error(`The script of GraphiQL has changed: ${name}`)
    return text.replace(found, replacement)
  }, script)
}
