import { LRUCache } from 'lru-cache'
import pg from 'pg'
import { ConnectError } from '../errors.ts'
import type { ServerConfig } from './parse-url.ts'

const noChannelBinding = 'the server does not offer channel_binding'
const noTls = 'The server does not support SSL connections'

/** Whether a server accepts TLS, by host and port. Forgotten after a minute, and when a connection fails. */
const answers = new LRUCache<string, Promise<boolean>>({ max: 100, ttl: 60_000 })

function addressOf({ host, port }: Pick<ServerConfig, 'host' | 'port'>): string {
  return `${host}:${port}`
}

/** Asks a server, by a connection of its own, because node-postgres cannot go on with one that was refused TLS. */
function acceptsTls(config: ServerConfig): Promise<boolean> {
  const address = addressOf(config)
  const known = answers.get(address)
  if (known) return known
  const asking = new pg.Client(config)
  asking.on('error', () => undefined)
  const answer = asking.connect().then(
    () => true,
    (error: Error) => {
      // Any other reason is found again by the connection that asked.
      if (error.message !== noTls) answers.delete(address)
      return error.message !== noTls
    },
  )
  answers.set(address, answer)
  void answer.then(() => asking.end()).catch(() => undefined)
  return answer
}

type OnConnect = (error: Error | null, client?: pg.Client) => void

/** The first byte of what a PostgreSQL server sends to a new connection: a message, or whether it accepts TLS. */
const firstBytes = new Set('RENSv')

/** What another server sends to a new connection. */
class NoPostgres extends Error {
  override readonly name = 'NoPostgres'
}

/** A connection whose failure to connect is a {@link ConnectError}, whatever the reason. */
export class Client extends pg.Client {
  private refusal: NoPostgres | undefined

  constructor(config?: string | ServerConfig) {
    super(config)
    const { prefersTls = false, requiresChannelBinding = false } = Object(config) as ServerConfig
    const connect = this.connect.bind(this) as (done: OnConnect) => void
    const connectTo = (done: OnConnect) => {
      this.refuseOthers()
      try {
        connect((error) => done(error && this.fail(error), this))
      } catch (error) {
        // Node does not accept the address.
        done(this.fail(error as Error))
      }
    }
    const connectOrFail = async (done: OnConnect) => {
      if (prefersTls && !(await acceptsTls(config as ServerConfig))) this.goWithoutTls()
      connectTo(done)
    }
    if (requiresChannelBinding) this.requireChannelBinding()
    this.connect = ((done?: OnConnect) => {
      if (done) return void connectOrFail(done)
      return new Promise((resolve, reject) => void connectOrFail((error) => (error ? reject(error) : resolve(this))))
    }) as pg.Client['connect']
  }

  /** Ends the connection to a server that is not PostgreSQL. Its data would make node-postgres wait for more. */
  private refuseOthers(): void {
    const { stream } = this.connection
    stream.once('data', (data: Buffer) => {
      const text = data.toString('latin1')
      if (firstBytes.has(text.charAt(0))) return
      this.refusal = new NoPostgres(JSON.stringify(text.slice(0, 40)))
      stream.destroy(this.refusal)
    })
  }

  private goWithoutTls(): void {
    this.ssl = false
    Object.assign(this.connection, { ssl: false })
  }

  /** Ends the connection before it sends a password to a server that does not bind it to the certificate. */
  private requireChannelBinding(): void {
    const { connection } = this
    let isBound = false
    const refuse = () => {
      if (!isBound) connection.stream.destroy(new Error(noChannelBinding))
    }
    connection.once('authenticationSASL', ({ mechanisms }: { mechanisms: string[] }) => {
      isBound = mechanisms.includes('SCRAM-SHA-256-PLUS')
      refuse()
    })
    for (const name of ['authenticationOk', 'authenticationCleartextPassword', 'authenticationMD5Password'])
      connection.once(name, refuse)
  }

  private fail(failure: Error): ConnectError {
    // node-postgres has its own error if it expects to hear whether the server accepts TLS.
    const error = this.refusal ?? failure
    // If this side ends the handshake, because a password is missing, the server would wait for a minute.
    this.connection.stream.destroy()
    answers.delete(addressOf(this))
    return new ConnectError(explain(error, this), { cause: error })
  }
}

/** Explains to an operator why no connection could be opened. Never contains the password. */
function explain(error: Error, { host, port, user, password }: pg.Client): string {
  const { message, code, syscall, severity } = error as pg.DatabaseError & NodeJS.ErrnoException
  const server = `${host}:${port}`
  if (error instanceof NoPostgres) return `${server} is not a PostgreSQL server: it sent ${message}`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the host of ${server} is unknown`
  if (code === 'ECONNREFUSED' || code === 'ENOENT') return `nothing answers at ${server}`
  if (syscall !== undefined || error instanceof AggregateError) return `nothing answers at ${server} (${code})`
  // With SCRAM, this side notices that there is no password.
  const isMissing = /client password must be a/.test(message) || (code === '28P01' && !password)
  if (isMissing) return `${server} asks for the password of the role ${user}, and none is set`
  if (code === '28000' && /no encryption/.test(message))
    return `${server} asks for TLS. Add sslmode=require or more to the URL`
  if (code === '28P01') return `${server} rejected the password of the role ${user}`
  if (severity !== undefined) return `${server} refused the connection: ${message} (${code})`
  if (/^(timeout expired|Connection terminated)/.test(message)) {
    return `${server} closed the connection or did not answer in time, as a server that is not PostgreSQL does`
  }
  // Node adds advice about its own options.
  return `${server}: ${message.replace(/; if the root CA is .*/, '. Set sslrootcert to the certificate of its authority')}`
}
