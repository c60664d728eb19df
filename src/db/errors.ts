// A failed statement reaches this gateway in several shapes: an error of node-postgres, of a driver adapter, or of Prisma
// Client, each the cause of the next. The functions here look through all of them.

/**
 * Codes of errors after which the same request may succeed later.
 * `P…`: Prisma Client. Five characters: PostgreSQL (08 connection, 53 resources, 57P shutdown, 57014/55P03/25P03 timeouts,
 * 40001/40P01 conflicts that retries did not resolve, 25006 a server that became a standby). `E…`: the socket, which a
 * process without a free descriptor does not get.
 */
const unavailableCodes =
  /^(P1001|P1002|P1008|P1017|P2024|P2028|P2034|08\d{3}|53\d{3}|57P0[1-5]|57014|55P03|25P03|25006|40001|40P01|ECONNREFUSED|ECONNRESET|ENOTFOUND|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|EMFILE|ENFILE)$/

/** Kinds of driver adapter errors that mean the same. */
const unavailableKinds = new Set([
  'DatabaseNotReachable',
  'ConnectionClosed',
  'TlsConnectionError',
  'TooManyConnections',
  'SocketTimeout',
  'TransactionWriteConflict',
])

/** Messages of node-postgres, which has no codes for these. */
const unavailableMessages =
  /^(timeout (exceeded when trying to connect|expired)|Connection terminated|Client (has encountered a connection error|was closed)|Cannot use a pool after calling end|Query read timeout)/

/** Whether the database could not answer, so that the same request may succeed later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return matches(error, unavailableCodes, unavailableKinds, unavailableMessages)
}

const lostCodes =
  /^(P1001|P1002|P1017|08\d{3}|57P0[1-3]|ECONNREFUSED|ECONNRESET|ENOTFOUND|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)$/
const lostKinds = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'TlsConnectionError', 'SocketTimeout'])
const lostMessages =
  /^(timeout expired|Connection terminated|Client (has encountered a connection error|was closed)|Query read timeout)/

/** Whether the server cannot be reached by any statement, not only by this one. */
export function isServerLost(error: unknown): boolean {
  return matches(error, lostCodes, lostKinds, lostMessages)
}

/** Whether a statement took longer than `statement_timeout`. */
export function isStatementTimeout(error: unknown): boolean {
  return matches(error, /^57014$/, new Set(), /^canceling statement due to statement timeout/)
}

/** Serialization failure, deadlock, and Prisma's code for both. */
const conflictCodes = /^(P2034|40001|40P01)$/
const conflictKinds = new Set(['TransactionWriteConflict'])
/** A raw statement of Prisma Client (P2010) has the code of PostgreSQL only in its message. */
const conflictMessages = /Raw query failed\. Code: `(40001|40P01)`/

/** Whether a transaction conflicted with another one, so that running it again makes sense. */
export function isConflict(error: unknown): boolean {
  return matches(error, conflictCodes, conflictKinds, conflictMessages)
}

/** Whether a write failed because the row that it refers to is missing. */
export function isForeignKeyViolation(error: unknown): boolean {
  return matches(error, /^P2003$/, new Set(['ForeignKeyConstraintViolation']))
}

interface Failure {
  readonly code?: unknown
  readonly originalCode?: unknown
  readonly kind?: unknown
  readonly message?: unknown
  readonly meta?: unknown
  readonly driverAdapterError?: unknown
  readonly cause?: unknown
}

function matches(error: unknown, codes: RegExp, kinds: ReadonlySet<string>, messages?: RegExp): boolean {
  for (let failure = error; isFailure(failure); failure = causeOf(failure)) {
    if ([failure.code, failure.originalCode].some((code) => typeof code === 'string' && codes.test(code))) return true
    if (typeof failure.kind === 'string' && kinds.has(failure.kind)) return true
    if (typeof failure.message === 'string' && messages?.test(failure.message)) return true
  }
  return false
}

function isFailure(value: unknown): value is Failure {
  return typeof value === 'object' && value !== null
}

function causeOf({ cause, meta, driverAdapterError }: Failure): unknown {
  return cause ?? driverAdapterError ?? (isFailure(meta) ? meta.driverAdapterError : undefined)
}
