import type { Viewer } from '@fusion-gateway/auth'
import { type Sql, statement } from '@fusion-gateway/sql'
import { isEventId, transactionOf } from './event.ts'

// What a reader has seen of the log of a tenant, from where the reader continues. Ids have the order in which
// transactions began to write, and not that in which they end. So a snapshot sees the events up to an id, without those
// of the transactions that ran at that time.

/** What was seen of a log: the events up to an id, without those of some transactions. */
export interface Position {
  readonly last: string
  /** The beginnings of the ids of the transactions before `last` that had not ended, in their order. */
  readonly running: readonly string[]
}

/** The end of a log, as a snapshot of the database sees it. */
interface LogEnd {
  /** The id of the last event, whether or not others can appear before it. */
  readonly last: string
  /** Where the ids of transactions that begin later begin. */
  readonly begun: string
  /** The beginnings of the ids of the transactions that have not ended. */
  readonly running: readonly string[]
}

/** Before the first event. */
const start = `evt_${'0'.repeat(24)}`

// The search for an event that no tenant has makes Citus evaluate the position where the events of the tenant are.
const readLast = statement(
  `
  SELECT (SELECT id FROM event WHERE tenant_app_id = $1 ORDER BY id DESC LIMIT 1),
    (SELECT events_removed_to FROM tenant_app WHERE id = $1), position.begun, position.running
  FROM (SELECT count(*) FROM event WHERE tenant_app_id = $1 AND id = '') AS routed
    CROSS JOIN LATERAL event_position() AS position`,
  { isShortRead: true },
)

/** Reads the end of the log of a tenant, by one statement. Its snapshot is taken while this function runs. */
export async function readLogEnd(sql: Sql, tenantAppId: string): Promise<LogEnd> {
  const [[last, removedTo, begun, running] = []] = await sql.query(readLast, [tenantAppId])
  const removed = String(removedTo ?? start)
  return {
    last: [String(last ?? start), removed].toSorted().at(-1) as string,
    begun: String(begun),
    // What is older than the events that are kept counts as removed.
    running: (running as string[]).filter((prefix) => prefix > removed).toSorted(),
  }
}

/**
 * The position of a viewer at the end of the log. The id of the last event would tell the user of a token that others
 * have changed something. That of a key is an event, because a database that has crashed can use the numbers of
 * transactions again which have written nothing.
 */
export function positionAt({ last, begun, running }: LogEnd, { userId }: Pick<Viewer, 'userId'>): Position {
  const to = userId === undefined ? last : idBefore(begun)
  return { last: to, running: running.filter((prefix) => prefix < to) }
}

/** The greatest id that an event before a transaction can have, whether one has it or not. */
export function idBefore(prefix: string): string {
  return prefixOf(numberOf(prefix) - 1) + 'f'.repeat(12)
}

/** All events that were not seen at a position are greater than this. */
export function lowestOf({ last, running }: Position): string {
  return running[0] ?? last
}

export function isSeenAt({ last, running }: Position, id: string): boolean {
  return id <= last && !running.includes(transactionOf(id))
}

/** More transactions make a position longer than clients like to store. Then it is an earlier one. */
const maxRunning = 100
const distancesPattern = new RegExp(`^[0-9a-z]{1,10}(?:\\.[0-9a-z]{1,10}){0,${maxRunning - 1}}$`)

/**
 * A position as a text: the id of an event, and how far the transactions that had not ended are before it.
 *
 * `{ last: 'evt_0000000003e8…', running: ['evt_0000000003e7'] }` ⇒ `evt_0000000003e8…~1`
 */
export function formatPosition({ last, running }: Position): string {
  const next = running[maxRunning]
  const to = next === undefined ? last : idBefore(next)
  const distances = running.slice(0, maxRunning).map((prefix) => (numberOf(to) - numberOf(prefix)).toString(36))
  return distances.length === 0 ? to : `${to}~${distances.join('.')}`
}

/**
 * Reads a position, or the id of an event: all events up to it were seen. Undefined if the text is neither. The
 * distances decrease, because the transactions of a position are in their order.
 */
export function parsePosition(text: string): Position | undefined {
  const [last = '', distances, ...others] = text.split('~')
  if (!isEventId(last) || others.length > 0) return undefined
  if (distances === undefined) return { last, running: [] }
  if (!distancesPattern.test(distances)) return undefined
  const numbers = distances.split('.').map((distance) => numberOf(last) - Number.parseInt(distance, 36))
  const isOrdered = numbers.every((number, index) => number > (numbers[index - 1] ?? -1))
  return isOrdered ? { last, running: numbers.map(prefixOf) } : undefined
}

/** `evt_0000000003e8…` ⇒ `1000`. It has 48 bits. */
function numberOf(id: string): number {
  return Number.parseInt(transactionOf(id).slice('evt_'.length), 16)
}

function prefixOf(number: number): string {
  return `evt_${number.toString(16).padStart(12, '0')}`
}
