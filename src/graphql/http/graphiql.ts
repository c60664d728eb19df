import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../errors.ts'
import { releaseSlot } from '../../http/plugins/shed-load.ts'
import { moveToFiles, type StaticFiles, sendFile } from './graphiql-files.ts'

/** The path of the files that the page loads. */
export const filesPath = '/graphql/files'

/** Headers that proxies add. */
const proxyHeaders = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

/** A tab that GraphiQL opens at the start. It is named after its operation. */
interface Tab {
  readonly query: string
  readonly variables?: string
}

const tabFolder = path.join(import.meta.dirname, 'graphiql-tabs')

/** Reads the tabs: a .graphql file each, in alphabetical order, with variables in a .json file. The ids are the demo tenant's. */
function readTabs(): Tab[] {
  const files = readdirSync(tabFolder).filter((file) => file.endsWith('.graphql'))
  return files.sort().map((file): Tab => {
    const query = readFileSync(path.join(tabFolder, file), 'utf8')
    const variablesFile = path.join(tabFolder, file.replace('.graphql', '.json'))
    if (!existsSync(variablesFile)) return { query }
    const variables: unknown = JSON.parse(readFileSync(variablesFile, 'utf8'))
    return { query, variables: JSON.stringify(variables, null, 2) }
  })
}

/** The page uses inline scripts and workers. It loads nothing from other hosts, and no page may embed it. */
const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; worker-src 'self' blob: data:; " +
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self' blob: data:; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

/**
 * Creates what answers a browser with GraphiQL: its page, and the files that the page loads. Slow readers of them take no
 * place of other requests.
 *
 * @param demoKey the key of the demo tenant, which browsers on this machine get; others get a placeholder
 */
export function createGraphiql(demoKey: string | undefined) {
  const files: StaticFiles = new Map()
  // Buffers, because they are sent as they are.
  const pages = new Map<string | undefined, Promise<Buffer>>()

  function pageFor(apiKey: string | undefined): Promise<Buffer> {
    const page = pages.get(apiKey) ?? renderPage(apiKey, files)
    pages.set(apiKey, page)
    page.catch(() => pages.delete(apiKey))
    return page
  }

  return {
    page(request: FastifyRequest, reply: FastifyReply): Promise<Buffer> {
      releaseSlot(reply)
      reply.headers(pageHeaders).type('text/html; charset=utf-8')
      return pageFor(isFromThisMachine(request) ? demoKey : undefined)
    },
    /** @throws GatewayError NOT_FOUND */
    async file(request: FastifyRequest, reply: FastifyReply): Promise<Buffer> {
      releaseSlot(reply)
      await pageFor(undefined)
      const file = files.get((request.params as { name: string }).name)
      if (!file) throw new GatewayError('NOT_FOUND', 'There is no such file.')
      return sendFile(request, reply, file)
    },
  }
}

/** Whether the request comes from a browser that opens a page: it accepts HTML and cannot send a key. */
export function wantsPage({ headers }: FastifyRequest): boolean {
  return (headers.accept ?? '').includes('text/html') && headers['x-api-key'] === undefined
}

/**
 * Whether the request comes from this machine and names it, and not through a proxy on this machine. The second condition
 * excludes pages of other sites whose name resolves to 127.0.0.1.
 */
function isFromThisMachine({ ip, hostname, headers }: FastifyRequest): boolean {
  if (proxyHeaders.some((name) => headers[name] !== undefined)) return false
  const isLoopback = (address: string) =>
    /^(127\.\d+\.\d+\.\d+|::1|\[::1\]|::ffff:127\.\d+\.\d+\.\d+|localhost)$/.test(address)
  return isLoopback(ip) && isLoopback(hostname)
}

async function renderPage(apiKey: string | undefined, files: StaticFiles): Promise<Buffer> {
  // 9 MB of scripts: loaded when the first browser requests them.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const tabs = readTabs()
  const headers = JSON.stringify({ 'x-api-key': apiKey ?? '<API_KEY>' }, null, 2)
  const rendered = renderGraphiQL({
    title: 'Fusion Gateway',
    endpoint: '/graphql',
    headers,
    defaultHeaders: headers,
    defaultTabs: tabs.map((tab) => ({ ...tab, headers })),
    defaultEditorToolsVisibility: 'headers',
    isHeadersEditorEnabled: true,
    // A stored key would outlive the database that it belongs to.
    shouldPersistHeaders: false,
    schemaDescription: true,
  })
  const page = await moveToFiles(rendered, filesPath, files)
  return Buffer.from(page.replace('</head>', () => `${fixesFor(tabs)}</head>`))
}

/**
 * Fixes for GraphiQL 5 with several tabs. A tab moves while the mouse is down on it, so the first click is lost. The first
 * reload opens an empty tab unless a query is stored.
 */
function fixesFor(tabs: readonly Tab[]): string {
  return `
<style>.graphiql-tab { transform: none !important }</style>
<script>localStorage['graphiql:query'] ??= ${JSON.stringify(tabs[0]?.query)}</script>
`
}
