import { readFileSync } from 'node:fs'
import {
  addFile,
  faviconPath,
  htmlPage,
  isFromThisMachine,
  readPageFile,
  routePlugin,
  type StaticFiles,
  sendFile,
  setPageHeaders,
} from '@fusion-gateway/http'
import type { HomeOptions } from './home.ts'

const filesPath = '/docs/files'

/** Swagger UI sets styles of elements. */
const sources = "script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'"

/** Serves `/docs`: the REST reference, which Swagger UI renders from `/openapi.json` in the browser. */
export const reference = routePlugin<Pick<HomeOptions, 'demoKey'>>('reference', (app, { demoKey }) => {
  const files: StaticFiles = new Map()
  let head: string | undefined

  app.route({
    method: ['GET', 'HEAD'],
    url: '/docs',
    handler(request, reply) {
      setPageHeaders(reply, sources)
      head ??= addFiles(files)
      const key = isFromThisMachine(request) ? demoKey : undefined
      reply.send(htmlPage(request, 'REST reference · Fusion Gateway', head, pageBody(key)))
    },
  })
  app.get(`${filesPath}/:name`, async (request, reply) => {
    head ??= addFiles(files)
    return sendFile(request, reply, files)
  })
})

/** Adds the files of the page. Returns the elements that load them. */
function addFiles(files: StaticFiles): string {
  const read = (url: string) => readFileSync(new URL(url), 'utf8')
  const styles = [read(import.meta.resolve('swagger-ui-dist/swagger-ui.css')), readPageFile('reference.css')]
  const scripts = [read(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')), readPageFile('reference.js')]
  return [
    ...styles.map((text) => `<link rel="stylesheet" href="${filesPath}/${addFile(files, 'css', text)}">`),
    ...scripts.map((text) => `<script src="${filesPath}/${addFile(files, 'js', text)}" defer></script>`),
  ].join('\n')
}

function pageBody(key: string | undefined): string {
  return `<nav aria-label="Fusion Gateway"><a href="/"><img src="${faviconPath}" alt="">Fusion Gateway</a> <a href="/guides/rest">Guide</a></nav>
<div id="reference"${key === undefined ? '' : ` data-key="${key}"`}></div>`
}
