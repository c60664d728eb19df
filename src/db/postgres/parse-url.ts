import { createSecureContext } from 'node:tls'
import type pg from 'pg'
import { parse } from 'pg-connection-string'
import { OperatorError } from '../../errors.ts'

/**
 * Parses the URL of a server and reads the certificates that it names. Given the URL, node-postgres would read them again for each
 * connection, and a file that cannot be opened then ends the process: the pool makes connections in callbacks.
 *
 * @throws OperatorError if the certificates cannot be used
 */
export function parseUrl(url: string): pg.ClientConfig {
  try {
    const config = parse(url)
    // Throws if the key belongs to another certificate. Within a connection, that error would leave the connection open.
    if (typeof config.ssl === 'object') createSecureContext(config.ssl as object)
    return config as unknown as pg.ClientConfig
  } catch (error) {
    throw new OperatorError(`The URL of the database cannot be used: ${(error as Error).message}`)
  }
}
