import { readFile } from 'node:fs/promises'
import { routePlugin } from '../routes.ts'
import { faviconPath, isFromThisMachine, readPageFile, setPageHeaders } from './page.ts'
import { addFile, type StaticFiles, sendFile } from './static-files.ts'

const filesPath = '/docs/files'

export interface ReferenceOptions {
  /** The key of the demo tenant, with which browsers on this machine send requests. */
  readonly demoKey?: string | undefined
}

/** Serves `/docs`: the REST reference, which Swagger UI renders from `/openapi.json` in the browser. */
export const reference = routePlugin<ReferenceOptions>('reference', (app, { demoKey }) => {
  const files: StaticFiles = new Map()
  let names: Promise<Names> | undefined

  function load(): Promise<Names> {
    names ??= addFiles(files)
    names.catch(() => {
      names = undefined
    })
    return names
  }

  app.route({
    method: ['GET', 'HEAD'],
    url: '/docs',
    async handler(request, reply) {
      setPageHeaders(
        reply,
        // Swagger UI sets styles of elements.
        "script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'",
      )
      return render(await load(), isFromThisMachine(request) ? demoKey : undefined)
    },
  })
  app.get(`${filesPath}/:name`, async (request, reply) => {
    await load()
    return sendFile(request, reply, files)
  })
})

/** The names of the files of the page. */
interface Names {
  readonly scripts: readonly string[]
  readonly styles: readonly string[]
}

async function addFiles(files: StaticFiles): Promise<Names> {
  const read = (url: string) => readFile(new URL(url), 'utf8')
  return {
    scripts: [
      await addFile(files, 'js', await read(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js'))),
      await addFile(files, 'js', readPageFile('reference.js')),
    ],
    styles: [
      await addFile(files, 'css', await read(import.meta.resolve('swagger-ui-dist/swagger-ui.css'))),
      await addFile(files, 'css', readPageFile('reference.css')),
    ],
  }
}

function render({ scripts, styles }: Names, key: string | undefined): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>REST reference · Fusion Gateway</title>
<link rel="icon" href="${faviconPath}">
${styles.map((name) => `<link rel="stylesheet" href="${filesPath}/${name}">`).join('\n')}
${scripts.map((name) => `<script src="${filesPath}/${name}" defer></script>`).join('\n')}
</head>
<body>
<nav aria-label="Fusion Gateway"><a href="/"><img src="${faviconPath}" alt="">Fusion Gateway</a></nav>
<main id="reference"${key === undefined ? '' : ` data-key="${key}"`}></main>
</body>
</html>
`
}
