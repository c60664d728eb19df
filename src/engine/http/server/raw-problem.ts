import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { errorCodes, type GatewayError } from '../../errors.ts'
import { toProblem } from '../problem.ts'

/**
 * Responds with a problem document directly on a socket, where there is no response of Node, and ends the connection.
 *
 * @param waitMilliseconds how long the client waits for it
 */
export function endWithProblem(
  socket: Duplex,
  error: GatewayError,
  log: FastifyBaseLogger,
  waitMilliseconds = 0,
): void {
  const requestId = randomUUID()
  const { status, title } = errorCodes[error.code]
  const body = JSON.stringify(toProblem(error, requestId))
  const { limit, cause } = error
  log.info({ requestId, status, limit, code: (cause as NodeJS.ErrnoException | undefined)?.code }, 'not a request')
  const headers = {
    ...error.headers,
    'x-request-id': requestId,
    'cache-control': 'no-store',
    'content-type': 'application/problem+json; charset=utf-8',
    connection: 'close',
    'content-length': Buffer.byteLength(body),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const response = `HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`
  const timer = setTimeout(() => socket.end(response), waitMilliseconds)
  // Node closes a connection whose client sends nothing more.
  socket.prependOnceListener('end', () => socket.end(response))
  socket.once('close', () => clearTimeout(timer))
}
