/**
 * Codes of an error that say: the database could not be asked, the query itself may be fine.
 * P…: Prisma Client. Five characters: PostgreSQL (08 connection, 53 resources, 57P shutdown, 57014/55P03/25P03 timeouts,
 * 40001/40P01 another transaction in the way, again and again).
 * E…: the socket.
 */
const unavailableCodes =
  /^(P1001|P1002|P1008|P1017|P2024|P2028|P2034|08\d{3}|53\d{3}|57P0[1-5]|57014|55P03|25P03|40001|40P01|ECONNREFUSED|ECONNRESET|ENOTFOUND|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)$/

/** Kinds of a driver adapter's error that say the same. */
const unavailableKinds = new Set([
  'DatabaseNotReachable',
  'ConnectionClosed',
  'TooManyConnections',
  'SocketTimeout',
  'TransactionWriteConflict',
])

/** node-postgres has no code for these. */
const unavailableMessages =
  /^(timeout (exceeded when trying to connect|expired)|Connection terminated|Client (has encountered a connection error|was closed)|Cannot use a pool after calling end|Query read timeout)/

interface Trouble {
  readonly code?: unknown
  readonly originalCode?: unknown
  readonly kind?: unknown
  readonly message?: unknown
  readonly meta?: unknown
  readonly driverAdapterError?: unknown
  readonly cause?: unknown
}

/** Whether an error means that the database was not there to answer, so that asking again later makes sense. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return says(error, unavailableCodes, unavailableKinds, unavailableMessages)
}

/** Codes, kinds and messages of an error that say: this server, or the way to it, is gone for everybody. */
const lostCodes =
  /^(P1001|P1002|P1017|08\d{3}|57P0[1-3]|ECONNREFUSED|ECONNRESET|ENOTFOUND|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)$/
const lostKinds = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout'])
const lostMessages =
  /^(timeout expired|Connection terminated|Client (has encountered a connection error|was closed)|Query read timeout)/

/** Whether an error means that the server itself is lost, and not that it has too much to do for this one statement. */
export function isServerLost(error: unknown): boolean {
  return says(error, lostCodes, lostKinds, lostMessages)
}

/** Whether a statement took longer than it may. */
export function isStatementTimeout(error: unknown): boolean {
  return says(error, /^57014$/, new Set(), /^canceling statement due to statement timeout/)
}

function says(error: unknown, codes: RegExp, kinds: ReadonlySet<string>, messages: RegExp): boolean {
  for (let trouble = error; isTrouble(trouble); trouble = causeOf(trouble)) {
    if ([trouble.code, trouble.originalCode].some((code) => typeof code === 'string' && codes.test(code))) return true
    if (typeof trouble.kind === 'string' && kinds.has(trouble.kind)) return true
    if (typeof trouble.message === 'string' && messages.test(trouble.message)) return true
  }
  return false
}

function isTrouble(value: unknown): value is Trouble {
  return typeof value === 'object' && value !== null
}

function causeOf({ cause, meta, driverAdapterError }: Trouble): unknown {
  return cause ?? driverAdapterError ?? (isTrouble(meta) ? meta.driverAdapterError : undefined)
}
