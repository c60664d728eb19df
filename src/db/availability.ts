/**
 * Codes of an error that say: the database could not be asked, the query itself may be fine.
 * P…: Prisma Client. Five characters: PostgreSQL (08 connection, 53 resources, 57P shutdown, 57014/55P03 timeouts).
 * E…: the socket.
 */
const unavailableCodes =
  /^(P1001|P1002|P1008|P1017|P2024|P2028|08\d{3}|53\d{3}|57P0[1-5]|57014|55P03|ECONNREFUSED|ECONNRESET|ENOTFOUND|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)$/

/** Kinds of a driver adapter's error that say the same. */
const unavailableKinds = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'TooManyConnections', 'SocketTimeout'])

/** node-postgres has no code for these. */
const unavailableMessages =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Cannot use a pool after calling end|Query read timeout)/

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
  for (let trouble = error; isTrouble(trouble); trouble = causeOf(trouble)) {
    if ([trouble.code, trouble.originalCode].some((code) => typeof code === 'string' && unavailableCodes.test(code))) {
      return true
    }
    if (typeof trouble.kind === 'string' && unavailableKinds.has(trouble.kind)) return true
    if (typeof trouble.message === 'string' && unavailableMessages.test(trouble.message)) return true
  }
  return false
}

function isTrouble(value: unknown): value is Trouble {
  return typeof value === 'object' && value !== null
}

function causeOf({ cause, meta, driverAdapterError }: Trouble): unknown {
  return cause ?? driverAdapterError ?? (isTrouble(meta) ? meta.driverAdapterError : undefined)
}
