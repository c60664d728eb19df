import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { releasePermits } from '../plugins/load-shedding.ts'

/** Reads a file of a page. */
export function readPageFile(name: string): string {
  return readFileSync(path.join(import.meta.dirname, 'files', name), 'utf8')
}

export const faviconPath = '/favicon.svg'

/** Whether the request comes from a browser that opens a page: it accepts HTML and cannot send credentials. */
export function wantsPage({ headers }: FastifyRequest): boolean {
  if (headers['x-api-key'] !== undefined || headers.authorization !== undefined) return false
  return (headers.accept ?? '').includes('text/html')
}

/** Headers that proxies add. */
const proxyHeaders = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

/**
 * Whether the request comes from this machine and names it, and not through a proxy on this machine. The second condition
 * excludes pages of other sites whose name resolves to 127.0.0.1.
 */
export function isFromThisMachine({ ip, hostname, headers }: FastifyRequest): boolean {
  if (proxyHeaders.some((name) => headers[name] !== undefined)) return false
  const isLoopback = (address: string) =>
    /^(127\.\d+\.\d+\.\d+|::1|\[::1\]|::ffff:127\.\d+\.\d+\.\d+|localhost)$/.test(address)
  return isLoopback(ip) && isLoopback(hostname)
}

/**
 * Sets the headers of a page. It loads nothing from other hosts, and no page may embed it. Slow readers take no permits of other
 * requests.
 *
 * @param sources what it may load, as directives of a content security policy
 */
export function setPageHeaders(reply: FastifyReply, sources: string): void {
  releasePermits(reply)
  reply.type('text/html; charset=utf-8').headers({
    'content-security-policy': `default-src 'none'; ${sources}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    vary: 'accept',
  })
}

/** Sends a page of text and links, in one piece. */
export type SendTextPage = (reply: FastifyReply, title: string, body: string) => string

export function createTextPages(): SendTextPage {
  const style = readPageFile('page.css')
  const sources = `style-src 'sha256-${hash('sha256', style, 'base64')}'; img-src 'self'`
  return (reply, title, body) => {
    setPageHeaders(reply, sources)
    return htmlPage(title, `<style>${style}</style>`, `<main>\n${body}\n</main>`)
  }
}

/** The HTML of a page. */
export function htmlPage(title: string, head: string, body: string): string {
  return `<!doctype html>
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
}
