import { hash } from 'node:crypto'
import { respondConditionally } from '../engine/http/conditional.ts'
import {
  faviconPath,
  htmlPage,
  isFromThisMachine,
  readPageFile,
  rootOf,
  setPageHeaders,
} from '../engine/http/pages/page.ts'
import { addFile, type StaticFiles, sendFile } from '../engine/http/pages/static-files.ts'
import { routePlugin } from '../engine/http/plugin.ts'
import { type Module, readModules, readStyle } from './modules.ts'

interface ConsoleOptions {
  /** Whether operations can be opened in GraphiQL. */
  readonly graphiql: boolean
  /** The key of the demo tenant, which browsers on this machine get. */
  readonly demoKey?: string | undefined
}

const filesPath = '/console/files'

/**
 * Serves `/console`. Its pages are one document: the browser renders the page of the path, with the API of every
 * client.
 */
export const consolePages = routePlugin<ConsoleOptions>('console', (app, { graphiql, demoKey }) => {
  const files: StaticFiles = new Map()
  let loading: Promise<ReturnType<typeof addFiles>> | undefined

  /** Loads the files when the first browser asks for them, and again if that has failed. */
  async function load(): Promise<ReturnType<typeof addFiles>> {
    loading ??= readModules().then((modules) => addFiles(files, modules))
    try {
      return await loading
    } catch (error) {
      loading = undefined
      throw error
    }
  }

  for (const url of ['/console', '/console/:page', '/console/:page/:id']) {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      async handler(request, reply) {
        const headOf = await load()
        const { head, sources } = headOf(rootOf(request))
        setPageHeaders(reply, sources)
        const key = isFromThisMachine(request) ? demoKey : undefined
        const page = htmlPage(request, 'Console · Fusion Gateway', head, bodyOf(graphiql, key))
        return respondConditionally(request, reply, page)
      },
    })
  }
  app.get(`${filesPath}/:name`, async (request, reply) => {
    await load()
    return sendFile(request, reply, files)
  })
})

/**
 * Adds the files of the page. Their names change with their content, so an import map leads from the names in `import`
 * to the files.
 *
 * @returns a function that returns the elements that load them from a page, and what the page may load
 */
function addFiles(files: StaticFiles, modules: readonly Module[]) {
  const imports = Object.fromEntries(
    modules.map(([name, code]) => {
      const url = name.endsWith('.ts') ? `${filesPath}/${name}` : name
      return [url, `${filesPath}/${addFile(files, 'js', code)}`] as const
    }),
  )
  const styleName = addFile(files, 'css', readPageFile('variables.css') + readStyle())
  return (root: string) => {
    const map = JSON.stringify({ imports }).replaceAll(`"${filesPath}`, `"${root}${filesPath.slice(1)}`)
    const head = [
      `<link rel="stylesheet" href="${filesPath}/${styleName}">`,
      `<script type="importmap">${map}</script>`,
      ...Object.values(imports).map((url) => `<link rel="modulepreload" href="${url}">`),
      `<script type="module" src="${imports[`${filesPath}/main.ts`]}"></script>`,
    ].join('\n')
    const mapHash = hash('sha256', map, 'base64')
    const sources = `script-src 'self' 'sha256-${mapHash}'; style-src 'self'; img-src 'self' data:; connect-src 'self'`
    return { head, sources }
  }
}

const bodyOf = (graphiql: boolean, key: string | undefined) =>
  `<div id="console"${graphiql ? ' data-graphiql' : ''}${key === undefined ? '' : ` data-key="${key}"`}></div>
<noscript><p><img src="${faviconPath}" alt=""> The console needs JavaScript.</p></noscript>`
