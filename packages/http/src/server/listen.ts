import { OperatorError } from '@fusion-gateway/base'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'

/**
 * Accepts connections.
 *
 * @param variable the variable that sets the port
 * @returns the URL of the server
 * @throws OperatorError if the host has no address, or the port is in use
 */
export async function listen(
  app: FastifyInstance,
  options: FastifyListenOptions & { readonly host: string; readonly port: number },
  variable: 'PORT' | 'METRICS_PORT' = 'PORT',
): Promise<string> {
  const { host, port } = options
  try {
    return await app.listen(options)
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall === 'getaddrinfo') {
      throw new OperatorError(`HOST must be a name or an address of this machine. ${host} has no address.`)
    }
    if (code !== 'EADDRINUSE') throw error
    throw new OperatorError(
      `Another program uses the port ${port} of ${host}. Stop it, or set ${variable} to another port: ${variable}=${port + 1} npm start`,
    )
  }
}
