import { hash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { respondConditionally } from '@fusion-gateway/gateway-kit'
import {
  addFile,
  faviconPath,
  htmlPage,
  isFromThisMachine,
  readPageFile,
  rootOf,
  routePlugin,
  type StaticFiles,
  sendFile,
  setPageHeaders,
} from '@fusion-gateway/http'

const folder = path.join(import.meta.dirname, 'files')

/** The packages that the modules import, by the name under which they do. */
const packages = ['preact', 'preact/hooks', 'htm']

/** A module that browsers load: the name under which others import it, and its JavaScript. */
export type Module = readonly [name: string, code: string]

/**
 * Reads the modules of the console, without their types. A thread removes these, because Node's compiler takes several
 * hundred milliseconds to load. In the thread, Node does not warn that its function for this is experimental.
 */
export async function readModules(): Promise<Module[]> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.ts'))
  const texts = names.map((name) => readFileSync(path.join(folder, name), 'utf8'))
  const worker = new Worker(new URL('./strip-types.worker.ts', import.meta.url), {
    workerData: texts,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  const [codes]: string[][] = await once(worker, 'message')
  return packages
    .map((name): Module => [name, readFileSync(new URL(import.meta.resolve(name)), 'utf8')])
    .concat(names.map((name, at): Module => [name, codes?.[at] ?? '']))
}

const readStyle = () => readFileSync(path.join(folder, 'console.css'), 'utf8')

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
