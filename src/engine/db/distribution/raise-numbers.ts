import { setTimeout as sleep } from 'node:timers/promises'
import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { OperatorError } from '../../errors.ts'
import { execute, statement } from '../statement.ts'
import { runOnNodes } from './nodes.ts'

// A node numbers the events of its tenants, and readers know the greatest number that they have read. Before tenants
// come to a node, its numbers are raised above all that the other node has used, and will use until the tenants have
// moved. Nothing waits for this. The functions of the log (prisma/distributed.sql) know two offsets meanwhile, and
// docs/decisions/0040-moving-a-tenant.md says why no reader misses an event.

/** How many transactions the other node may number while rows are moved: 17 billion. An id has 48 bits for it. */
const margin = 2n ** 34n

const maxMilliseconds = 120_000
const pauseMilliseconds = 200

/** A node of Citus. All nodes get the same statements, and one of them has this group. */
export interface Node {
  /** `host:port` */
  readonly node: string
  readonly group: string
}

/**
 * Lets a node number events above all that another node has numbered and will number soon. Waits until the transactions
 * have ended that could write smaller numbers.
 *
 * @param other the name of the other node
 * @throws OperatorError if a transaction runs for too long
 */
export async function raiseNumbers(sql: SqlQueryable, { node, group }: Node, other: string): Promise<void> {
  // Those of sessions that have ended can hold it up.
  await execute(sql, recoverPrepared)
  const wanted = (await readNumber(sql, other, usedNumber)) + margin
  const giveUpAt = performance.now() + maxMilliseconds
  while ((await readNumber(sql, node, openNumber)) < wanted) {
    if (performance.now() > giveUpAt) {
      throw new OperatorError(
        `A transaction has run on ${node} for ${maxMilliseconds / 1_000} s, and its events must be read first. ` +
          'See pg_stat_activity and pg_prepared_xacts there. Nothing has moved. It is safe to run the command again.',
      )
    }
    // Each is a transaction of its own.
    for (const step of steps(wanted)) {
      await runOnNodes(
        sql,
        `DO $$ BEGIN IF (SELECT groupid FROM pg_dist_local_group) = ${group} THEN ${step} END IF; END $$`,
      )
    }
    await sleep(pauseMilliseconds)
  }
}

const recoverPrepared = statement('SELECT recover_prepared_transactions()')

const steps = (offset: bigint) => [
  `UPDATE event_raise SET next = ${offset} WHERE next IS NULL;`,
  // All transactions that have looked at the offset before the first step ended have a smaller number than this one.
  'UPDATE event_raise SET since = pg_current_xact_id()::text::bigint WHERE next IS NOT NULL AND since IS NULL;',
  // When they have ended, both offsets mean the same.
  `IF (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= since FROM event_raise) THEN
    UPDATE event_state SET "offset" = next FROM event_raise;
    UPDATE event_raise SET next = NULL, since = NULL;
  END IF;`,
]

/** Above all numbers that a node has used. */
const usedNumber = 'coalesce(next, "offset") + pg_snapshot_xmax(pg_current_snapshot())::text::bigint'

/** Not above any number that a transaction uses which runs or will run. */
const openNumber = '"offset" + pg_snapshot_xmin(pg_current_snapshot())::text::bigint'

async function readNumber(sql: SqlQueryable, node: string, number: string): Promise<bigint> {
  const numbers = await runOnNodes(sql, `SELECT ${number} FROM event_state, event_raise`)
  return BigInt(String(numbers.find((found) => found.node === node)?.value))
}
