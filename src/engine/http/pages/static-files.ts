import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../errors.ts'
import { releasePermits } from '../plugins/load-shedding.ts'
import { choosePreferred } from '../quality-values.ts'

/** A file that browsers keep for good: its name changes with its content. */
interface StaticFile {
  readonly type: string
  readonly content: Buffer
  /** Compressed once for all clients, when the first one accepts it. */
  compressed?: Promise<Buffer>
}

export type StaticFiles = Map<string, StaticFile>

const types = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
}

/** Adds a file. Returns its name. */
export function addFile(files: StaticFiles, extension: keyof typeof types, text: string): string {
  const name = `${hash('sha256', text).slice(0, 16)}.${extension}`
  if (!files.has(name)) files.set(name, { type: types[extension], content: Buffer.from(text) })
  return name
}

/**
 * Sends the file that the path names, compressed if the client accepts it. Slow readers take no permits of other requests.
 *
 * @throws GatewayError NOT_FOUND
 */
export async function sendFile(request: FastifyRequest, reply: FastifyReply, files: StaticFiles): Promise<Buffer> {
  const file = files.get((request.params as { name: string }).name)
  if (!file) throw new GatewayError('NOT_FOUND', 'There is no such file.')
  releasePermits(reply)
  const encodings = String(request.headers['accept-encoding'] ?? '')
  const isCompressed = choosePreferred(encodings, ['gzip', 'identity']) === 'gzip'
  reply.header('cache-control', 'public, max-age=31536000, immutable').header('vary', 'accept-encoding').type(file.type)
  if (!isCompressed) return file.content
  reply.header('content-encoding', 'gzip')
  file.compressed ??= promisify(gzip)(file.content)
  return file.compressed
}
