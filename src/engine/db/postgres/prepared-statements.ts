import { LRUCache } from 'lru-cache'
import pg from 'pg'

/** How many prepared statements a connection keeps. Each costs memory on the server. */
const maxPrepared = 200

/** Settings of node-postgres for a statement with a name, which it prepares. */
export interface NamedSettings extends pg.QueryConfig {
  readonly name: string
  readonly rowMode?: 'array'
  /** How long to wait for the result, in milliseconds. */
  readonly query_timeout?: number
}

/**
 * A statement that a connection has prepared. Its columns are known when it has been executed once, and cannot change.
 */
interface Prepared {
  columns?: readonly pg.FieldDef[]
}

/**
 * Creates the record of what a connection has prepared. Beyond 200 statements, the connection closes the one that was
 * used least recently.
 */
export function createPreparedStatements(connection: pg.Connection) {
  const wire = connection as unknown as Wire
  const statements = new LRUCache<string, Prepared>({
    max: maxPrepared,
    // Sent with the statement that follows, so it costs no round trip.
    dispose(_value, name, reason) {
      if (reason !== 'evict') return
      delete wire.parsedStatements[name]
      wire.close({ type: 'S', name })
    },
  })
  const withoutDescribe = Object.create(connection, { describe: { value: () => undefined } }) as pg.Connection

  /** Records that the connection uses a statement. */
  function use(name: string): Prepared {
    const prepared = statements.get(name) ?? {}
    statements.set(name, prepared)
    return prepared
  }

  return {
    use,
    /** Closes a statement, so that the next use prepares it again. */
    forget(name: string): void {
      statements.delete(name)
      delete wire.parsedStatements[name]
      wire.close({ type: 'S', name })
    },
    /** Creates a query that asks the server for the columns of its rows only if they are not known. */
    createQuery: (settings: NamedSettings) => new PreparedQuery(settings, use(settings.name), withoutDescribe),
  }
}

/** Parts of a connection that the types of node-postgres leave out. */
interface Wire {
  readonly parsedStatements: Record<string, string>
  close(message: { readonly type: 'S'; readonly name: string }): void
}

/** Parts of a query that the types of node-postgres leave out. */
interface QueryParts {
  name: string
  values: unknown
  query_timeout: number | undefined
  _rowMode: 'array' | undefined
  _result: ResultParts
  _results: ResultParts
  _accumulateRows: boolean
  prepare(connection: pg.Connection): void
  handleCommandComplete(message: unknown, connection: pg.Connection): void
}

interface ResultParts {
  readonly fields: readonly pg.FieldDef[]
  addFields(fields: readonly pg.FieldDef[]): void
}

const Query = pg.Query as unknown as new (text: string) => QueryParts
const Result = pg.Result as unknown as new (
  rowMode: NamedSettings['rowMode'],
  types: NamedSettings['types'],
) => ResultParts

class PreparedQuery extends Query {
  private readonly prepared: Prepared
  private readonly withoutDescribe: pg.Connection

  constructor(settings: NamedSettings, prepared: Prepared, withoutDescribe: pg.Connection) {
    // Given an object, node-postgres would copy each property with its descriptor.
    super(settings.text)
    this.name = settings.name
    this.values = settings.values
    this.query_timeout = settings.query_timeout
    this._rowMode = settings.rowMode
    this._result = new Result(settings.rowMode, settings.types)
    this._results = this._result
    this.prepared = prepared
    this.withoutDescribe = withoutDescribe
  }

  override prepare(connection: pg.Connection): void {
    const { columns } = this.prepared
    if (columns !== undefined) {
      this._result.addFields(columns)
      this._accumulateRows = true
    }
    super.prepare(columns === undefined ? connection : this.withoutDescribe)
  }

  override handleCommandComplete(message: unknown, connection: pg.Connection): void {
    this.prepared.columns ??= this._result.fields
    super.handleCommandComplete(message, connection)
  }
}
