import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** A file that browsers keep for good: its name changes with its content. */
export interface StaticFile {
  readonly type: string
  readonly content: Buffer
  readonly compressed: Buffer
}

/** Files by their names. */
export type StaticFiles = Map<string, StaticFile>

/**
 * Moves the style and the script of GraphiQL, which are 9 MB and the same for everyone, from its page to files.
 *
 * @param page of `@graphql-yoga/render-graphiql`
 * @param folder the path under which the files are served
 * @param files gets those of the page
 * @returns the page without them
 */
export async function moveToFiles(page: string, folder: string, files: StaticFiles): Promise<string> {
  const style = between(page, '<style>', '</style>')
  // The end of the script starts GraphiQL with the options of this page.
  const script = between(page.slice(0, page.lastIndexOf('YogaGraphiQL.renderYogaGraphiQL(')), '<script>')
  const styleName = await addFile(files, style.text, 'css', 'text/css; charset=utf-8')
  const scriptName = await addFile(files, script.text, 'js', 'text/javascript; charset=utf-8')
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

async function addFile(files: StaticFiles, text: string, extension: string, type: string): Promise<string> {
  const name = `${hash('sha256', text).slice(0, 16)}.${extension}`
  if (!files.has(name)) {
    const content = Buffer.from(text)
    files.set(name, { type, content, compressed: await promisify(gzip)(content) })
  }
  return name
}

/** Sends a file, compressed if the client accepts it. */
export function sendFile(request: FastifyRequest, reply: FastifyReply, file: StaticFile): Buffer {
  const isCompressed = new Negotiator(request.raw).encoding(['gzip', 'identity']) === 'gzip'
  reply.header('cache-control', 'public, max-age=31536000, immutable').header('vary', 'accept-encoding').type(file.type)
  if (isCompressed) reply.header('content-encoding', 'gzip')
  return isCompressed ? file.compressed : file.content
}
