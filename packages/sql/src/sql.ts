import { clientHasGone } from '@fusion-gateway/base'
import type { Connector, DatabaseNode, OpenTransaction, Server, StatementResult } from './driver.ts'
import { isConflict, isOfWrongSession, isStatementTimeout } from './errors.ts'
import type { Parameter, Statement } from './statement.ts'

/** Called when a statement has ended, with its error if it failed. */
export type StatementEnd = (error?: unknown) => void

/**
 * Called with the text of each statement before it is sent. The statement is not sent if the observer throws. The
 * function that it returns is called when the statement has ended.
 */
export type StatementObserver = (text: string) => StatementEnd | undefined

/** What a request, or other work of the gateway, carries to the database, and what is counted of it. */
export interface RequestDatabase {
  /** How many statements were sent so far. */
  statements: number
  /** Whether the client has gone: only statements that end a transaction are sent then. */
  isAbandoned?: boolean
  /** Whether the request only reads, and may read rows that are slightly out of date. */
  mayLag?: boolean
  readonly requestId?: string
  tenantAppId?: string | undefined
  /** Who its writes are queued for. */
  payer?: object
  /** Who writes, for the event log: the id of a key and of a request, separated by a space. */
  actor?: string
  /** Observes each statement, if the request is traced. */
  observe?: StatementObserver | undefined
  /** Whether its response was kept from an earlier one. */
  isKept?: boolean
  /** Whether a statement took longer than it may. */
  hasTimedOut?: boolean
  /** How long it has waited, if that is measured. */
  waits?: Waits
}

/** The time in which a request waits for statements or in queues. The rest of its time it keeps the event loop busy. */
export interface Waits {
  /** What it waits for now. */
  pending: number
  /** Since when, in the milliseconds of `performance.now()`. */
  since: number
  /** The sum of the waits that have ended, in milliseconds. */
  milliseconds: number
}

/** Waits for work, and counts the time as waiting. */
export async function waitFor<Result>({ waits }: RequestDatabase, work: () => Promise<Result>): Promise<Result> {
  if (!waits) return work()
  if (waits.pending === 0) waits.since = performance.now()
  waits.pending += 1
  try {
    return await work()
  } finally {
    waits.pending -= 1
    if (waits.pending === 0) waits.milliseconds += performance.now() - waits.since
  }
}

/**
 * Runs a write of a request, or its transaction to the end, in a queue. They can wait for locks, and must not have all
 * connections meanwhile. Each node of a distributed database has connections of its own.
 */
export type RunWrite = <Result>(request: RequestDatabase, work: () => Promise<Result>, node?: string) => Promise<Result>

export interface SqlOptions {
  /** Without it, writes and transactions wait only for a connection. */
  readonly runWrite?: RunWrite | undefined
  readonly observe?: StatementObserver | undefined
}

const maxTries = 3

interface SentAs {
  readonly transaction?: Transaction
  readonly isShared?: boolean
  readonly tenantAppId?: string
}

/** Sends statements: those of a request, of a transaction, or of the gateway itself. */
export class Sql {
  private readonly connector: Connector
  private readonly options: SqlOptions
  private readonly request: RequestDatabase
  private readonly transaction: Transaction | undefined
  /** Whether the statements are sent even if the client has gone, because others wait for the same. */
  private readonly isShared: boolean
  /** The tenant whose node the statements go to. By default that of the request. */
  private readonly tenantAppId: string | undefined

  constructor(
    connector: Connector,
    options: SqlOptions = {},
    request: RequestDatabase = { statements: 0 },
    { transaction, isShared = false, tenantAppId }: SentAs = {},
  ) {
    this.connector = connector
    this.options = options
    this.request = request
    this.transaction = transaction
    this.isShared = isShared
    this.tenantAppId = tenantAppId
  }

  /**
   * The same, for a request. Within a transaction, its statements belong to the transaction.
   *
   * @param isShared whether others wait for the same, so that statements are sent even if the client of the request has
   *   gone
   */
  for(request: RequestDatabase, { isShared = false } = {}): Sql {
    const { transaction } = this
    return new Sql(this.connector, this.options, request, { isShared, ...(transaction && { transaction }) })
  }

  /**
   * The same for work of the gateway itself on the rows of a tenant: on a distributed database its statements go to the
   * node of the tenant.
   */
  of(tenantAppId: string): Sql {
    const { transaction, isShared } = this
    if (transaction || this.nodes.length === 0) return this
    return new Sql(this.connector, this.options, this.request, { isShared, tenantAppId })
  }

  /** The name of the node that has the rows of a tenant. One server has no name. */
  nodeOf(tenantAppId: string): string {
    return this.connector.nodeOf?.(tenantAppId)?.name ?? ''
  }

  /** The nodes of a distributed database, if this process follows them. */
  get nodes(): readonly DatabaseNode[] {
    return this.connector.nodes?.() ?? []
  }

  /** Whether all nodes of a distributed database answer, as what is written on each of them needs. */
  get allAnswer(): boolean {
    return this.nodes.every((node) => node.problem() === undefined)
  }

  /**
   * Sends a statement that lists something of all tenants. On a distributed database each node is asked for what it
   * has, so a list can have a row for each part of the rows, and lacks those of a node that fails.
   *
   * @throws if no node answers
   */
  async list(statement: Statement, parameters: readonly Parameter[] = []): Promise<unknown[][]> {
    const { nodes } = this
    if (nodes.length === 0) return this.query(statement, parameters)
    const asked = nodes.filter((node) => node.hasRows())
    const lists = await Promise.allSettled(
      asked.map((node) => this.observed(statement.text, () => node.list(statement, parameters))),
    )
    const [first] = lists
    if (first?.status === 'rejected' && lists.every(({ status }) => status === 'rejected')) throw first.reason
    return lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : []))
  }

  /** Sends a statement. Returns its rows, each a list of values in the order of the columns. */
  async query(statement: Statement, parameters: readonly Parameter[] = []): Promise<unknown[][]> {
    return (await this.send(statement, parameters, statement.mayWait === true)).rows
  }

  /** Sends a statement that writes. Returns the number of rows that it inserted, updated or deleted. */
  async execute(statement: Statement, parameters: readonly Parameter[] = []): Promise<number> {
    return (await this.send(statement, parameters, true)).count
  }

  runScript(script: string): Promise<void> {
    return this.observed(script, () => this.connector.runScript(script))
  }

  /**
   * Runs work in a transaction. The statements that the work sends by the `Sql` that it is passed belong to it. If the
   * work fails, nothing is written. Within a transaction, the work has a savepoint.
   *
   * Work that conflicts with another transaction (deadlock, serialization failure) is rolled back and run again, at
   * most three times in all. Otherwise only workers try again, when they store the outcome of a job. So the work has no
   * effect outside of the database: this comes after the transaction, or is left to `afterCommit`.
   *
   * @param options.runsOnce whether a conflict fails the work at once, because it cannot be repeated
   */
  async transact<Result>(work: (sql: Sql) => Promise<Result>, { runsOnce = false } = {}): Promise<Result> {
    if (this.transaction) return this.savepoint(this.transaction, () => work(this))
    return again(() => this.runTransaction(work), runsOnce ? 1 : maxTries)
  }

  /** Runs work that writes with one statement, which is a transaction by itself. Otherwise as `transact`. */
  async attempt<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    if (this.transaction) return this.savepoint(this.transaction, () => work(this))
    return again(() => work(this), maxTries)
  }

  /** Makes the transaction roll back when its work has ended. The result of the work is still returned. */
  undo(): void {
    if (!this.transaction) throw new Error('There is no transaction to undo')
    this.transaction.isUndone = true
  }

  /** Does something outside of the database because of a write: once the transaction of the write is committed. */
  afterCommit(effect: () => void): void {
    if (this.transaction) this.transaction.effects.push(effect)
    else effect()
  }

  private send(statement: Statement, parameters: readonly Parameter[], mayWait: boolean): Promise<StatementResult> {
    const { transaction, request } = this
    if (transaction) return this.sendTo(transaction, statement, parameters)
    const { runWrite } = this.options
    if (!mayWait) return this.read(statement, parameters)
    const { node } = this
    const sendNow = () => this.sendTo(node ?? this.connector, statement, parameters)
    return runWrite ? runWrite(request, sendNow, node?.name) : sendNow()
  }

  /** The node with the rows of the tenant. Any other server forwards its statements. */
  private get node(): DatabaseNode | undefined {
    const tenantAppId = this.tenantAppId ?? this.request.tenantAppId
    return tenantAppId === undefined ? undefined : this.connector.nodeOf?.(tenantAppId)
  }

  private read(statement: Statement, parameters: readonly Parameter[]): Promise<StatementResult> {
    const { connector, request, node } = this
    const send = () => (node ? node.send : (connector.read ?? connector.send))(statement, parameters)
    const { routeRead } = connector
    const route = request.mayLag && routeRead ? () => routeRead(request, statement, parameters, send) : send
    return this.observed(statement.text, route)
  }

  // The triggers of the event log store who changed a row. They read the setting `fusion.actor` of the transaction. A
  // write sets it by its RETURNING clause, which PostgreSQL evaluates before it runs the triggers, so this needs no
  // statement of its own. Citus rejects such a clause, and sends the settings of a transaction to the servers of its
  // rows: there a transaction begins with the setting, and a write by itself is a transaction.
  private async sendTo(
    target: Server | Transaction,
    statement: Statement,
    parameters: readonly Parameter[],
  ): Promise<StatementResult> {
    const { actor } = this.request
    if (actor === undefined || statement.writes === undefined)
      return this.observed(statement.text, () => target.send(statement, parameters))
    if (this.isDistributed)
      return this.observed(statement.text, () =>
        target instanceof Transaction
          ? target.send(statement, parameters)
          : sendInTransaction(target, actor, statement, parameters),
      )
    const sent = byActor(statement, parameters.length + 1)
    const { rows, count } = await this.observed(sent.text, () => target.send(sent, [...parameters, actor]))
    return { rows: rows.map((values) => values.slice(0, -1)), count }
  }

  private get isDistributed(): boolean {
    return this.connector.isDistributed?.() ?? false
  }

  private async runTransaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    const { runWrite } = this.options
    const { node } = this
    const run = () => this.runTransactionNow(node ?? this.connector, work)
    return runWrite ? runWrite(this.request, run, node?.name) : run()
  }

  private async runTransactionNow<Result>(server: Server, work: (sql: Sql) => Promise<Result>): Promise<Result> {
    const { request } = this
    const open = await this.observed('BEGIN', () => begin(server, this.isDistributed ? request.actor : undefined))
    const transaction = new Transaction(open)
    const end = (how: 'COMMIT' | 'ROLLBACK') => this.observed(how, () => open.end(how), true)
    let result: Result
    try {
      result = await work(new Sql(this.connector, this.options, request, { transaction })).finally(() =>
        transaction.close(),
      )
      const failed = transaction.conflict ?? transaction.failure
      if (failed) throw failed.error
    } catch (error) {
      await end('ROLLBACK').catch(() => undefined)
      // The work may have caught the conflict and failed for another reason because of it.
      throw transaction.conflict?.error ?? error
    }
    await end(transaction.isUndone ? 'ROLLBACK' : 'COMMIT')
    if (!transaction.isUndone) for (const effect of transaction.effects) effect()
    return result
  }

  /** Runs work in a savepoint, which is restored if the work fails. */
  private async savepoint<Result>(transaction: Transaction, work: () => Promise<Result>): Promise<Result> {
    const name = transaction.nextSavepoint()
    const run = (text: string, isEnd = true) => this.observed(text, () => transaction.send({ text }, []), isEnd)
    await run(`SAVEPOINT ${name}`, false)
    const { length } = transaction.effects
    try {
      const result = await work()
      await run(`RELEASE SAVEPOINT ${name}`)
      return result
    } catch (error) {
      transaction.effects.length = length
      // If this fails too, the transaction cannot be committed, and the first error says why.
      await run(`ROLLBACK TO SAVEPOINT ${name}`).then(
        () => transaction.restore(),
        () => undefined,
      )
      throw error
    }
  }

  /** @param isEnd whether the statement ends a transaction or a savepoint, whether or not the client has gone */
  private observed<Result>(text: string, send: () => Promise<Result>, isEnd = false): Promise<Result> {
    const { request } = this
    if (request.isAbandoned && !this.isShared && !isEnd) return Promise.reject(clientHasGone())
    let ends: (StatementEnd | undefined)[]
    try {
      ends = [this.options.observe?.(text), request.observe?.(text)]
    } catch (error) {
      return Promise.reject(error)
    }
    request.statements += 1
    const sent = request.waits ? waitFor(request, send) : send()
    const end = (error?: unknown) => {
      if (error !== undefined && isStatementTimeout(error)) request.hasTimedOut = true
      for (const each of ends) each?.(error)
    }
    // The caller gets the result without waiting for the observers.
    sent.then(() => end(), end)
    return sent
  }
}

/** A transaction that many senders share. Its connection takes one statement at a time. */
class Transaction {
  private readonly open: OpenTransaction
  private last: Promise<unknown> = Promise.resolve()
  private hasEnded = false
  private savepoints = 0
  /** The error after which no savepoint was restored: even COMMIT rolls back then, without an error. */
  failure: { readonly error: unknown } | undefined
  /** The error of a statement that conflicted with another transaction, even if a sender caught it. */
  conflict: { readonly error: unknown } | undefined
  isUndone = false
  /** What happens outside of the database when the transaction is committed. */
  readonly effects: (() => void)[] = []

  constructor(open: OpenTransaction) {
    this.open = open
  }

  send(statement: Statement, parameters: readonly Parameter[]): Promise<StatementResult> {
    if (this.hasEnded) return Promise.reject(new Error('A statement was sent after the end of its transaction'))
    const result = this.last.then(() => this.open.send(statement, parameters))
    this.last = result.catch((error: unknown) => {
      if (isConflict(error)) this.conflict ??= { error }
      this.failure ??= { error }
    })
    return result
  }

  nextSavepoint(): string {
    this.savepoints += 1
    return `savepoint_${this.savepoints}`
  }

  /** Notes that a savepoint was restored. */
  restore(): void {
    this.failure = undefined
  }

  /** Waits for the statements under way and rejects later ones: another transaction may have the connection by then. */
  async close(): Promise<void> {
    this.hasEnded = true
    await this.last
  }
}

/** Runs work again that conflicts with another transaction, or had a session that another client left read-only. */
async function again<Result>(work: () => Promise<Result>, maxTries: number): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (tries >= maxTries || !(isConflict(error) || isOfWrongSession(error))) throw error
    }
  }
}

/** `UPDATE … RETURNING id` ⇒ `UPDATE … RETURNING id, set_config('fusion.actor', $3, true) IS NULL`. */
function byActor({ text, name, writes, ...rest }: Statement, parameter: number): Statement {
  const set = `set_config('fusion.actor', $${parameter}, true) IS NULL`
  const sent = `${text}${writes === 'and returns rows' ? ', ' : ' RETURNING '}${set}`
  return { ...rest, text: sent, ...(name !== undefined && { name: `${name}_by` }) }
}

/** Begins a transaction. The triggers know the actor, on whichever server they run. */
async function begin(server: Server, actor: string | undefined): Promise<OpenTransaction> {
  const open = await server.begin()
  if (actor === undefined) return open
  try {
    await open.send({ text: `SET LOCAL fusion.actor = '${actor.replaceAll("'", "''")}'` }, [])
    return open
  } catch (error) {
    await open.end('ROLLBACK').catch(() => undefined)
    throw error
  }
}

async function sendInTransaction(
  server: Server,
  actor: string,
  statement: Statement,
  parameters: readonly Parameter[],
): Promise<StatementResult> {
  const open = await begin(server, actor)
  let result: StatementResult
  try {
    result = await open.send(statement, parameters)
  } catch (error) {
    await open.end('ROLLBACK').catch(() => undefined)
    throw error
  }
  await open.end('COMMIT')
  return result
}
