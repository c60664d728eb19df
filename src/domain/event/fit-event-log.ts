import type { Logger } from 'pino'
import type { Database } from '../../engine/db/database.ts'
import { query, statement } from '../../engine/db/statement.ts'

// A transaction that has written an event has a smaller number than the next one.
const isMisfit = `(server <> system_identifier
  OR next_offset() - 1 > "offset" + pg_snapshot_xmax(pg_current_snapshot())::text::bigint)`

const message =
  'the event log has been moved from another server: the ids of new events were below those that readers know, and are now above them. Restart the other processes of the gateway'

const findMisfit = statement(`SELECT 1 FROM event_state, pg_control_system() WHERE ${isMisfit}`)

const fit = statement(`
  UPDATE event_state SET server = system_identifier, "offset" = next_offset()
  FROM pg_control_system() WHERE ${isMisfit} RETURNING "offset"::text`)

/**
 * Makes the ids of new events greater than every position that the log and its readers know. They can be smaller when
 * the rows were moved to a server that has counted fewer transactions, by a restore of data alone, for example: readers
 * would never see these events.
 *
 * A session remembers the offset with which it writes. So processes that served already must be restarted.
 *
 * @param log gets a warning if the ids had to be made greater
 */
export async function fitEventLog(
  { sql, driver }: Pick<Database, 'sql' | 'driver'>,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  // `migrate distribute` does it for nodes, and a process does not start before (engine/db/distribution/layout.ts).
  if (driver.isDistributed?.()) return
  // Most starts have nothing to do, and write nothing.
  if ((await query(sql, findMisfit)).length === 0) return
  const [fitted] = await query(sql, fit)
  if (fitted) log.warn({ offset: fitted[0] }, message)
}
