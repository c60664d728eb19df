import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { errorCodes, GatewayError } from '@fusion-gateway/base'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GraphiQLOptions } from 'graphql-yoga'
import {
  addFile,
  createTextPages,
  faviconPath,
  isFromThisMachine,
  readPageFile,
  type StaticFiles,
  sendFile,
  setPageHeaders,
} from '../pages/page.ts'

/**
 * Serves browsers while GraphiQL is off: a page that says how to turn it on, with the status of a request without a
 * key.
 *
 * @param onlyTrusted whether GraphiQL is off because only trusted documents are executed
 */
export function createGraphiqlHint(onlyTrusted: boolean): (reply: FastifyReply) => string {
  const sendTextPage = createTextPages()
  const { code, headers } = new GatewayError('UNAUTHENTICATED', 'GraphiQL is off.')
  const body = page(onlyTrusted ? trusted : off)
  return (reply) => {
    reply.code(errorCodes[code].status).headers(headers)
    return sendTextPage(reply, 'GraphiQL is off · Fusion Gateway', body)
  }
}

const off = {
  reason: 'A gateway on PostgreSQL shows GraphiQL here only if its operator turns it on.',
  advice: 'Start the gateway with two variables. The second one lets GraphiQL load the schema:',
  command: 'GRAPHIQL=on INTROSPECTION=on npm start',
  request: '{"query": "{ viewer { keyName } }"}',
}

const trusted = {
  reason:
    'It executes trusted documents only, so GraphiQL could neither load the schema nor run an operation that you type.',
  advice: 'Start the gateway in the mode that also executes other documents, and logs them:',
  command: 'TRUSTED_DOCUMENTS_MODE=log npm start',
  request: '{"documentId": "…"}',
}

const page = ({ reason, advice, command, request }: typeof off) => `<header>
<img src="${faviconPath}" alt="">
<h1>GraphiQL is off</h1>
</header>
<p class="lead">This address serves GraphQL requests that send an API key. ${reason}</p>
<h2>Turn it on</h2>
<p>${advice}</p>
<pre tabindex="0" aria-label="Command"><code>${command}</code></pre>
<h2>Or send a request</h2>
<pre tabindex="0" aria-label="Example"><code>curl -H "x-api-key: $KEY" -H 'content-type: application/json' \\
  -d '${request}' \\
  $GATEWAY/graphql</code></pre>
<p>The <a href="/">start page</a> links to the REST reference.</p>`

export const filesPath = '/graphql/files'

/** A tab that GraphiQL opens at the start. It is named after its operation. */
interface Tab {
  readonly query: string
  readonly variables?: string
}

/**
 * Reads the tabs: a .graphql file each, in alphabetical order, with variables in a .json file. The ids are the demo
 * tenant's.
 */
function readTabs(folder: string): Tab[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.graphql'))
  return files.sort().map((file): Tab => {
    const query = readFileSync(path.join(folder, file), 'utf8')
    const variablesFile = path.join(folder, file.replace('.graphql', '.json'))
    if (!existsSync(variablesFile)) return { query }
    const variables: unknown = JSON.parse(readFileSync(variablesFile, 'utf8'))
    return { query, variables: JSON.stringify(variables, null, 2) }
  })
}

/** Stands for the key in the header editor. */
const placeholder = '<API_KEY>'

/** GraphiQL uses inline scripts, and its editor workers. */
const sources =
  "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; worker-src 'self' blob: data:; " +
  "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self' blob: data:"

export type Graphiql = ReturnType<typeof createGraphiql>

/**
 * Creates what Yoga needs to serve GraphiQL, and serves the files that its page loads. Slow readers of them take no
 * permits of other requests.
 *
 * @param options.tabs the folder of the operations that it opens in tabs
 * @param options.demoKey the key of the demo tenant, which browsers on this machine get; others get a placeholder
 */
export function createGraphiql({ tabs, demoKey }: { readonly tabs: string; readonly demoKey?: string | undefined }) {
  const files: StaticFiles = new Map()
  const pages = new Map<string, Promise<string>>()

  function optionsFor(apiKey: string): GraphiQLOptions {
    const headers = JSON.stringify({ 'x-api-key': apiKey }, null, 2)
    return {
      title: 'Fusion Gateway',
      // Without an endpoint, requests go to the address of the page.
      headers,
      defaultHeaders: headers,
      defaultTabs: readTabs(tabs).map((tab) => ({ ...tab, headers })),
      defaultEditorToolsVisibility: 'headers',
      isHeadersEditorEnabled: true,
      // A stored key would outlive the database that it belongs to.
      shouldPersistHeaders: false,
      schemaDescription: true,
    }
  }

  function render(options: GraphiQLOptions = optionsFor(placeholder)): Promise<string> {
    const key = options.headers ?? ''
    const page = pages.get(key) ?? renderPage(options, files)
    pages.set(key, page)
    page.catch(() => pages.delete(key))
    return page
  }

  return {
    /** Sets the headers of the page. Returns what it shows. */
    optionsFor(request: FastifyRequest, reply: FastifyReply): GraphiQLOptions {
      setPageHeaders(reply, sources)
      return optionsFor((isFromThisMachine(request) && demoKey) || placeholder)
    },
    render,
    /** @throws GatewayError NOT_FOUND */
    async file(request: FastifyRequest, reply: FastifyReply): Promise<Buffer> {
      await render()
      return sendFile(request, reply, files)
    },
  }
}

/** The page of GraphiQL, with its own plugins: the explorer, and no history, which would also store headers. */
async function renderPage(options: GraphiQLOptions, files: StaticFiles): Promise<string> {
  // 9 MB of scripts: loaded when the first browser requests them.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const page = moveToFiles(renderGraphiQL(options), `.${filesPath}`, files)
  const style = addFile(files, 'css', readPageFile('graphiql.css'))
  const script = addFile(files, 'js', ['graphiql.js', 'graphiql-changes.js'].map(readPageFile).join('\n'))
  const additions = `
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href=".${faviconPath}">
<link rel="stylesheet" href=".${filesPath}/${style}">
<script src=".${filesPath}/${script}"></script>
<script>localStorage['graphiql:query'] ??= ${JSON.stringify(options.defaultTabs?.[0]?.query)} // The first reload would open an empty tab.</script>
`
  return page.replace('</head>', () => `${additions}</head>`).replace('<div id="root"></div>', content)
}

/** Where GraphiQL renders. The script in `graphiql.js` follows the link. */
const content = `<a class="skip" href="#graphiql-session">Skip to the editor</a>
<main><h1>GraphiQL</h1><div id="root"></div></main>`

/**
 * Moves the style and the script of GraphiQL, which are 9 MB and the same for everyone, from its page to files.
 *
 * @param page of `@graphql-yoga/render-graphiql`
 * @param folder the path under which the files are served, relative to the page
 * @param files gets those of the page
 * @returns the page without them
 */
function moveToFiles(page: string, folder: string, files: StaticFiles): string {
  const style = between(page, '<style>', '</style>')
  // The end of the script starts GraphiQL with the options of this page.
  const script = between(page.slice(0, page.lastIndexOf('YogaGraphiQL.renderYogaGraphiQL(')), '<script>')
  const styleName = addFile(files, 'css', style.text)
  // Then its editors can be reached: graphiql-changes.js marks changes in results.
  const scriptName = addFile(files, 'js', script.text.replace('globalAPI: false', 'globalAPI: true'))
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
