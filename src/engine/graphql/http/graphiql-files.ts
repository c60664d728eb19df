import { addFile, type StaticFiles } from '../../http/pages/static-files.ts'

/**
 * Moves the style and the script of GraphiQL, which are 9 MB and the same for everyone, from its page to files.
 *
 * @param page of `@graphql-yoga/render-graphiql`
 * @param folder the path under which the files are served
 * @param files gets those of the page
 * @returns the page without them
 */
export function moveToFiles(page: string, folder: string, files: StaticFiles): string {
  const style = between(page, '<style>', '</style>')
  // The end of the script starts GraphiQL with the options of this page.
  const script = between(page.slice(0, page.lastIndexOf('YogaGraphiQL.renderYogaGraphiQL(')), '<script>')
  const styleName = addFile(files, 'css', style.text)
  const scriptName = addFile(files, 'js', withHistory(script.text))
  return [
    page.slice(0, style.from),
    `</style><link rel="stylesheet" href="${folder}/${styleName}"><style>`,
    page.slice(style.to, script.from),
    `</script><script src="${folder}/${scriptName}"></script><script>`,
    page.slice(script.to),
  ].join('')
}

/** The text after the first `opening`, up to the next `closing` or the end. */
function between(page: string, opening: string, closing?: string) {
  const from = page.indexOf(opening) + opening.length
  if (from < opening.length) throw new Error(`The page of GraphiQL has no ${opening}`)
  const to = closing === undefined ? page.length : page.indexOf(closing, from)
  return { from, to, text: page.slice(from, to) }
}

/** Yoga's GraphiQL contains the history, but shows only its own plugin, and takes no plugins in its options. */
function withHistory(script: string): string {
  const history = /(\w+)=\{title:"History",/.exec(script)?.[1]
  const plugins = /plugins:\[\w+(?=\],schemaDescription:)/
  if (history === undefined || !plugins.test(script)) throw new Error('The script of GraphiQL has no history')
  return script.replace(plugins, (found) => `${found},${history}`)
}
