import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { GatewayError } from '@fusion-gateway/base'
import { type Encoding, preferredEncoding } from '@fusion-gateway/gateway-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** A file that browsers keep for good: its name changes with its content. */
interface StaticFile {
  readonly type: string
  readonly content: Buffer
  /** Compressed once for all clients, when the first one prefers the encoding. */
  readonly compressed: Partial<Record<Encoding, Promise<Buffer>>>
}

export type StaticFiles = Map<string, StaticFile>

const types = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
}

/** Level 5 of Brotli takes 0.4 seconds for the 5 MB of GraphiQL, and higher levels up to 3 seconds for 5% less. */
const compress: Readonly<Record<Encoding, (content: Buffer) => Promise<Buffer>>> = {
  br: (content) => promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (content) => promisify(gzip)(content),
}

/** Adds a file. Returns its name. */
export function addFile(files: StaticFiles, extension: keyof typeof types, text: string): string {
  const name = `${hash('sha256', text).slice(0, 16)}.${extension}`
  if (!files.has(name)) files.set(name, { type: types[extension], content: Buffer.from(text), compressed: {} })
  return name
}

/**
 * Sends the file that the path names, compressed if the client accepts it. Slow readers take no places of other
 * requests.
 *
 * @throws GatewayError NOT_FOUND
 */
export async function sendFile(request: FastifyRequest, reply: FastifyReply, files: StaticFiles): Promise<Buffer> {
  const file = files.get((request.params as { name: string }).name)
  if (!file) throw new GatewayError('NOT_FOUND', 'There is no such file.')
  request.held.leavePlace()
  const encoding = preferredEncoding(request.headers['accept-encoding'] ?? '')
  reply.header('cache-control', 'public, max-age=31536000, immutable').header('vary', 'accept-encoding').type(file.type)
  if (encoding === undefined) return file.content
  reply.header('content-encoding', encoding)
  file.compressed[encoding] ??= compress[encoding](file.content)
  return file.compressed[encoding]
}

export function readPageFile(name: string): string {
  return readFileSync(path.join(import.meta.dirname, 'files', name), 'utf8')
}

export const faviconPath = '/favicon.svg'

/** Whether the request comes from a browser that opens a page: it accepts HTML and cannot send credentials. */
export function wantsPage({ headers }: FastifyRequest): boolean {
  if (headers['x-api-key'] !== undefined || headers.authorization !== undefined) return false
  return (headers.accept ?? '').includes('text/html')
}

/**
 * `origin`, which scripts of other pages send, and how the names of headers begin that proxies and content delivery
 * networks add.
 */
const foreignHeader = new RegExp(
  '^(?:origin$|forwarded|via$|x-forwarded|x-original-|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|' +
    'cf-|cdn-|fastly-|fly-|akamai-|x-akamai-|x-amz|x-appengine-|x-arr-|x-azure-|x-cloud-|x-envoy-|x-vercel-)',
)
const loopbackAddress = /^(?:(?:::ffff:)?127\.\d+\.\d+\.\d+|::1)$/
const loopbackName = /^(?:(?:[\w-]+\.)*localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i

/**
 * Whether a browser on this machine opens a page of this machine, as far as the request shows. The name excludes pages
 * of other sites whose name resolves to 127.0.0.1. Browsers speak HTTP/1.1; nginx before 1.29.7 speaks HTTP/1.0 unless
 * it is told otherwise. SECURITY.md says which proxies are not seen.
 */
export function isFromThisMachine({ ip, hostname, headers, raw }: FastifyRequest): boolean {
  if (raw.httpVersion === '1.0' || Object.keys(headers).some((name) => foreignHeader.test(name))) return false
  return loopbackAddress.test(ip) && loopbackName.test(hostname)
}

/**
 * Sets the headers of a page. It loads nothing from other hosts, and no page may embed it. Slow readers take no places
 * of other requests.
 *
 * @param sources what it may load, as directives of a content security policy
 * @param formAction where its forms may be sent
 */
export function setPageHeaders(reply: FastifyReply, sources: string, formAction: "'none'" | "'self'" = "'none'"): void {
  reply.request.held.leavePlace()
  reply.type('text/html; charset=utf-8').headers({
    'content-security-policy': `default-src 'none'; ${sources}; frame-ancestors 'none'; base-uri 'none'; form-action ${formAction}`,
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    vary: 'accept',
  })
}

export type SendTextPage = (reply: FastifyReply, title: string, body: string) => string

interface TextPageOptions {
  /** The style sheets, which are part of the page. */
  readonly sheets?: readonly string[]
  readonly hasForm?: boolean
}

export function createTextPages({ sheets = [], hasForm = false }: TextPageOptions = {}): SendTextPage {
  const style = ['variables.css', 'page.css', ...sheets].map(readPageFile).join('')
  const script = readPageFile('page.js')
  const hashOf = (text: string) => `'sha256-${hash('sha256', text, 'base64')}'`
  const sources = `style-src ${hashOf(style)}; script-src ${hashOf(script)}; img-src 'self'`
  return (reply, title, body) => {
    setPageHeaders(reply, sources, hasForm ? "'self'" : "'none'")
    return htmlPage(
      reply.request,
      title,
      `<style>${style}</style>`,
      `<main>\n${body}\n</main>\n<script>${script}</script>`,
    )
  }
}

/** A link from the root of the gateway, at its slash. */
const rootedLink = /(?<= (?:href|src|action)=")\/(?!\/)/g

/** The way from a page to the root of the gateway: `/guides/rest` ⇒ `../`. */
export function rootOf({ url }: FastifyRequest): string {
  const [path = ''] = url.split('?')
  return '../'.repeat(path.split('/').length - 2) || './'
}

/** A page whose links from the root are relative: a proxy may serve the gateway below another path. */
export function htmlPage(request: FastifyRequest, title: string, head: string, body: string): string {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${faviconPath}">
${head}
</head>
<body>
${body}
</body>
</html>
`
  return html.replace(rootedLink, rootOf(request))
}
