import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { respondConditionally } from '../engine/http/conditional.ts'
import { faviconPath, htmlPage, isFromThisMachine, readPageFile, setPageHeaders } from '../engine/http/pages/page.ts'
import { addFile, type StaticFiles, sendFile } from '../engine/http/pages/static-files.ts'
import { routePlugin } from '../engine/http/plugin.ts'

interface ConsoleOptions {
  /** Whether operations can be opened in GraphiQL. */
  readonly graphiql: boolean
  /** The key of the demo tenant, which browsers on this machine get. */
  readonly demoKey?: string | undefined
}

const filesPath = '/console/files'
const folder = path.join(import.meta.dirname, 'files')

/** The packages that the modules import, by the name under which they do. */
const packages = ['preact', 'preact/hooks', 'htm']

/** Serves `/console`. Its pages are one document: the browser renders the page of the path, with the API of every client. */
export const consolePages = routePlugin<ConsoleOptions>('console', (app, { graphiql, demoKey }) => {
  const files: StaticFiles = new Map()
  const { head, sources } = addFiles(files)

  for (const url of ['/console', '/console/*']) {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      handler(request, reply) {
        setPageHeaders(reply, sources)
        const key = isFromThisMachine(request) ? demoKey : undefined
        const page = htmlPage('Console · Fusion Gateway', head, bodyOf(graphiql, key))
        reply.send(respondConditionally(request, reply, page))
      },
    })
  }
  app.get(`${filesPath}/:name`, (request, reply) => sendFile(request, reply, files))
})

/**
 * Adds the files of the page. Their names change with their content, so an import map leads from the names in `import` to the files.
 *
 * @returns the elements that load them, and what the page may load
 */
function addFiles(files: StaticFiles) {
  const own = readdirSync(folder).filter((name) => name.endsWith('.js'))
  const modules = [
    ...packages.map((name) => [name, readFileSync(new URL(import.meta.resolve(name)), 'utf8')] as const),
    ...own.map((name) => [`${filesPath}/${name}`, readFileSync(path.join(folder, name), 'utf8')] as const),
  ]
  const imports = Object.fromEntries(
    modules.map(([name, text]) => [name, `${filesPath}/${addFile(files, 'js', text)}`] as const),
  )
  const map = JSON.stringify({ imports })
  const style = readPageFile('variables.css') + readFileSync(path.join(folder, 'console.css'), 'utf8')
  const head = [
    `<link rel="stylesheet" href="${filesPath}/${addFile(files, 'css', style)}">`,
    `<script type="importmap">${map}</script>`,
    ...Object.values(imports).map((url) => `<link rel="modulepreload" href="${url}">`),
    `<script type="module" src="${imports[`${filesPath}/main.js`]}"></script>`,
  ].join('\n')
  const mapHash = hash('sha256', map, 'base64')
  const sources = `script-src 'self' 'sha256-${mapHash}'; style-src 'self'; img-src 'self' data:; connect-src 'self'`
  return { head, sources }
}

const bodyOf = (graphiql: boolean, key: string | undefined) =>
  `<div id="console"${graphiql ? ' data-graphiql' : ''}${key === undefined ? '' : ` data-key="${key}"`}></div>
<noscript><p><img src="${faviconPath}" alt=""> The console needs JavaScript.</p></noscript>`
