import pg from 'pg'
import { ConnectError } from '../errors.ts'

type OnConnect = (error: Error | null, client?: pg.Client) => void

/** A connection whose failure to connect is a {@link ConnectError}, whatever the reason. */
export class Client extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    const connect = this.connect.bind(this) as (done: OnConnect) => void
    const connectOrFail = (done: OnConnect) => {
      try {
        connect((error) => done(error && this.fail(error), this))
      } catch (error) {
        // Node does not accept the address.
        done(this.fail(error as Error))
      }
    }
    this.connect = ((done?: OnConnect) => {
      if (done) return connectOrFail(done)
      return new Promise((resolve, reject) => connectOrFail((error) => (error ? reject(error) : resolve(this))))
    }) as pg.Client['connect']
  }

  private fail(error: Error): ConnectError {
    const { connection } = this as unknown as { readonly connection: pg.Connection }
    // If this side ends the handshake, because a password is missing, the server would wait for a minute.
    connection.stream.destroy()
    return new ConnectError(explain(error, this), { cause: error })
  }
}

/** Explains to an operator why no connection could be opened. Never contains the password. */
function explain(error: Error, { host, port, user, password }: pg.Client): string {
  const { message, code, syscall, severity } = error as pg.DatabaseError & NodeJS.ErrnoException
  const server = `${host}:${port}`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the host of ${server} is unknown`
  if (code === 'ECONNREFUSED' || code === 'ENOENT') return `nothing answers at ${server}`
  if (syscall !== undefined || error instanceof AggregateError) return `nothing answers at ${server} (${code})`
  // With SCRAM, this side notices that there is no password.
  const isMissing = /client password must be a/.test(message) || (code === '28P01' && !password)
  if (isMissing) return `${server} asks for the password of the role ${user}, and none is set`
  if (code === '28P01') return `${server} rejected the password of the role ${user}`
  if (severity !== undefined) return `${server} refused the connection: ${message} (${code})`
  if (/^(timeout expired|Connection terminated)/.test(message)) {
    return `${server} closed the connection or did not answer in time`
  }
  // Node adds advice about its own options.
  return `${server}: ${message.replace(/; if the root CA is .*/, '. Set sslrootcert to the certificate of its authority')}`
}
