// A failed statement reaches this gateway in several shapes: an error of node-postgres, of a driver adapter, or of
// Prisma Client, each the cause of the next. The functions here look through all of them.

/** No connection could be opened. The message tells operators why; the cause is the error of node-postgres. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError'
}

/**
 * Whether no connection could be opened for a reason that can pass by itself: the server does not run yet, or has no
 * name yet.
 */
export function isNotThereYet(error: unknown): boolean {
  const connectError = failuresOf(error).find((failure) => failure instanceof ConnectError)
  const cause = connectError?.cause as (NodeJS.ErrnoException & { readonly severity?: string }) | undefined
  if (cause === undefined) return false
  // The server itself refuses: it starts, stops, or has no connection left.
  if (cause.severity !== undefined) return /^(57P0[1-3]|53300)$/.test(String(cause.code))
  const isOfNetwork = cause.syscall !== undefined || cause instanceof AggregateError
  return isOfNetwork || /^(timeout expired|Connection terminated)/.test(cause.message)
}

/**
 * SQLSTATEs after which the same request may succeed later: whole classes, or single codes. After any other, the
 * statement itself is wrong.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export const temporaryStates = {
  '08': 'the connection failed',
  '25006': 'the server has become a standby',
  '25P03': 'the transaction was idle for too long',
  '25P04': 'the transaction took longer than transaction_timeout',
  '26000': 'the connection has lost a prepared statement',
  '28': 'the server no longer accepts the role or its password',
  '40001': 'transactions conflict, and retries did not help',
  '40P01': 'a deadlock, and retries did not help',
  '42P05': 'the connection has a prepared statement that it did not expect',
  '53': 'the server lacks memory, space on its disk, or connections',
  '55P03': 'a lock could not be taken in time',
  '57': 'an operator or a timeout ended the statement, or the server stops or starts',
  '58': 'a file of the server could not be read or written',
  '72000': 'a snapshot is too old (old_snapshot_threshold, until PostgreSQL 16)',
} as const

/** PostgreSQL has no own code for some failures of its disk: XX000 stands for other internal errors too. */
const brokenSystem =
  /^could not \w+ .*\b(file|block|directory)\b|: (No space left on device|Input\/output error|Read-only file system|Disk quota exceeded|Cannot allocate memory|Too many open files)/

/** Nor has Citus one for a node that it loses while a transaction ends. */
const lostNode = /^could not commit transaction .*\bactive node$|^failure on connection marked as essential/

/** Codes of Prisma Client and of sockets that mean the same. */
const temporaryCodes =
  /^(P1001|P1002|P1008|P1017|P2024|P2028|P2034|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/

/** Kinds of driver adapter errors that have no code. */
const lostKinds = new Set<unknown>(['ConnectionClosed', 'SocketTimeout'])

/** Messages of node-postgres, which has no codes for these. */
const lostMessages =
  /^(timeout expired|Connection terminated|Client (has encountered a connection error|was closed)|Query read timeout)/
const busyMessages =
  /^(timeout exceeded when trying to connect|timeout exceeded in the queue of writes|Cannot use a pool after calling end)/

/** Whether the database could not answer, so that the same request may succeed later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return failuresOf(error).some((failure) => {
    if (isLost(failure) || isStalePlan(failure)) return true
    const { message = '' } = failure
    const state = stateOf(failure)
    if (state === 'XX000') return brokenSystem.test(message) || lostNode.test(message)
    if (state !== undefined) return Object.keys(temporaryStates).some((start) => state.startsWith(start))
    return temporaryCodes.test(String(failure.code)) || busyMessages.test(message)
  })
}

/**
 * Whether a connection has prepared a statement that the server no longer has so: the type of a column has changed, or
 * a pooler has changed the session. The statement did not run.
 */
export function isStalePlan(failure: object): boolean {
  const { message = '' } = failure as Failure
  const state = stateOf(failure as Failure)
  return state === '26000' || state === '42P05' || (state === '0A000' && /cached plan/.test(message))
}

/** Whether no statement can reach the server, not only this one. */
export function isServerLost(error: unknown): boolean {
  const failures = failuresOf(error)
  return failures.some(isLost) && !failures.some(isCrowded)
}

/** Whether the server answers, and has only no time or no connection for the statement now. */
export function isServerBusy(error: unknown): boolean {
  return isStatementTimeout(error) || failuresOf(error).some(isCrowded)
}

/** Whether the server or this process has no connection left. Open connections still work. */
function isCrowded(failure: Failure): boolean {
  return stateOf(failure)?.startsWith('53') === true || failure.code === 'EMFILE' || failure.code === 'ENFILE'
}

function isLost(failure: Failure): boolean {
  if (failure instanceof ConnectError || lostKinds.has(failure.kind)) return true
  return lostCodes.test(stateOf(failure) ?? String(failure.code)) || lostMessages.test(failure.message ?? '')
}

/** The classes of lost connections, a server that stops, and codes of Prisma Client and of sockets. */
const lostCodes = /^(08\d{3}|57P0[1-3]|P1001|P1002|P1017|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/

export function isStatementTimeout(error: unknown): boolean {
  return hasState(error, '57014')
}

/** Whether a lock could not be taken because other transactions hold it: not in time, or never, in a deadlock. */
export function isLockDenied(error: unknown): boolean {
  return hasState(error, '40P01') || hasState(error, '55P03')
}

/** Whether a transaction conflicted with another one, so that running it again makes sense. */
export function isConflict(error: unknown): boolean {
  if (hasState(error, '40001') || hasState(error, '40P01')) return true
  return failuresOf(error).some(({ code, kind }) => code === 'P2034' || kind === 'TransactionWriteConflict')
}

const ofWrongSessions = new WeakSet<object>()

/** Notes that a statement failed because of a setting that another client of a pooler left in the session. */
export function markAsOfWrongSession(error: object): void {
  ofWrongSessions.add(error)
}

/** Whether a statement failed because of a setting of the session that is right now, so that it can be sent again. */
export function isOfWrongSession(error: unknown): boolean {
  return failuresOf(error).some((failure) => ofWrongSessions.has(failure))
}

/** Whether the role lacks a privilege. */
export function isPermissionDenied(error: unknown): boolean {
  return hasState(error, '42501')
}

/** Whether the database has no such table, column or function: it is not that of this version. */
export function isUnknownObject(error: unknown): boolean {
  return ['42P01', '42703', '42883'].some((state) => hasState(error, state))
}

export function isDivisionByZero(error: unknown): boolean {
  return hasState(error, '22012')
}

/** Whether a write failed because another row has its id or another value that must differ. */
export function isUniqueViolation(error: unknown): boolean {
  return hasState(error, '23505')
}

/**
 * Whether a write failed because the row that it refers to is missing.
 *
 * @public CONTRIBUTING.md uses it
 */
export function isForeignKeyViolation(error: unknown): boolean {
  return hasState(error, '23503') || failuresOf(error).some(({ code }) => code === 'P2003')
}

/** Classes of SQLSTATEs about a value of a written row: out of range, against a constraint, too long. */
const refusedRow = /^(21|22|23|54)/

/** What the database says about a row that it cannot store; undefined if the error is not about the row. */
export function refusalOf(error: unknown): string | undefined {
  const refusal = failuresOf(error).findLast((failure) => refusedRow.test(stateOf(failure) ?? ''))
  return refusal && (refusal.originalMessage || refusal.message || String(stateOf(refusal)))
}

function hasState(error: unknown, state: string): boolean {
  return failuresOf(error).some((failure) => stateOf(failure) === state)
}

/** One shape of an error, with its properties and its cause. */
interface Failure {
  readonly code?: unknown
  readonly originalCode?: unknown
  readonly originalMessage?: string
  readonly kind?: unknown
  readonly message?: string
  readonly meta?: unknown
  readonly driverAdapterError?: unknown
  readonly cause?: unknown
}

/** An error and its causes, the outermost first. */
function failuresOf(error: unknown): Failure[] {
  const failures: Failure[] = []
  for (let failure = error; isFailure(failure); failure = causeOf(failure)) failures.push(failure)
  return failures
}

/**
 * The SQLSTATE of an error, not of its causes: `'28P01'`. Five characters, but not a code of Prisma Client (`P2002`) or
 * of a socket (`EPIPE`).
 */
function stateOf({ code, originalCode, message = '' }: Failure): string | undefined {
  // A raw statement of Prisma Client has the SQLSTATE only in its message.
  const [, ofRaw] = /Raw query failed\. Code: `(\w{5})`/.exec(message) ?? []
  return [originalCode, ofRaw, code].find((word): word is string => typeof word === 'string' && isState(word))
}

function isState(word: string): boolean {
  return /^[0-9A-Z]{5}$/.test(word) && !/^(P[1-9]\d{3}|E[A-Z]{4})$/.test(word)
}

function isFailure(value: unknown): value is Failure {
  return typeof value === 'object' && value !== null
}

/** The error below an error, in any of the shapes; undefined if there is none. */
export function causeOf(error: object): unknown {
  const { cause, meta, driverAdapterError } = error as Failure
  return cause ?? driverAdapterError ?? (isFailure(meta) ? meta.driverAdapterError : undefined)
}
