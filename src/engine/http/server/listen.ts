import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import { OperatorError } from '../../errors.ts'

/**
 * Accepts connections.
 *
 * @returns the URL of the server
 * @throws OperatorError if the host has no address
 */
export async function listen(app: FastifyInstance, options: FastifyListenOptions): Promise<string> {
  try {
    return await app.listen(options)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== 'getaddrinfo') throw error
    throw new OperatorError(`HOST must be a name or an address of this machine. ${options.host} has no address.`)
  }
}
