import { setTimeout } from 'node:timers/promises'
import { OperatorError } from '@fusion-gateway/base'
import type pg from 'pg'

/** The advisory locks of migrations: the gateway's own, and the one that `prisma migrate` takes. */
const migrationLocks = [4_070_226, 72_707_369]

const takeBoth = 'SELECT CASE WHEN pg_try_advisory_lock($1) THEN pg_try_advisory_lock($2) ELSE false END AS taken'

const pollMilliseconds = 200

const findCoordinator = `
  SELECT nodename || ':' || nodeport AS address FROM pg_dist_node, pg_dist_local_group AS own
  WHERE pg_dist_node.groupid = 0 AND own.groupid <> 0`

const findHolder = `
  SELECT pid, usename, application_name, host(client_addr) AS address, to_char(backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since
  FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE locktype = 'advisory' AND classid = 0 AND objid = ANY ($1) AND granted AND pid <> pg_backend_pid() AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`

/**
 * Takes the locks of migrations for a session. Polls for them, because a statement that waits would block indexes that
 * are built concurrently: they wait for all statements. Nodes of Citus know nothing of each other's locks, so they are
 * those of the coordinator.
 *
 * @throws OperatorError naming the coordinator, if the session is one of another node
 * @throws OperatorError naming the session that holds the lock, if it does so for too long
 */
export async function takeMigrationLock(session: pg.Pool, milliseconds: number): Promise<void> {
  await requireCoordinator(session)
  const giveUpAt = performance.now() + milliseconds
  for (;;) {
    const { rows } = await session.query(takeBoth, migrationLocks)
    if (rows[0].taken === true) return
    if (performance.now() >= giveUpAt) break
    await setTimeout(pollMilliseconds)
  }
  const { rows } = await session.query<Record<string, string | null>>(findHolder, [migrationLocks])
  const [{ pid, usename, application_name, address, since } = {}] = rows
  throw new OperatorError(
    `Another process has held the lock of migrations for ${milliseconds / 1000} s` +
      (pid === undefined
        ? '.'
        : `: session ${pid} of the role ${usename} (${[application_name, address ?? 'socket'].filter(Boolean).join(', ')}), connected since ${since}. ` +
          `Wait for it (--lock-timeout), or end it: SELECT pg_terminate_backend(${pid})`),
  )
}

async function requireCoordinator(session: pg.Pool): Promise<void> {
  const { rows: found } = await session.query(`SELECT to_regclass('pg_catalog.pg_dist_local_group') AS citus`)
  if (found[0].citus === null) return
  const { rows } = await session.query(findCoordinator)
  if (rows.length === 0) return
  throw new OperatorError(
    `DATABASE_URL names a node of Citus. Run this command on the coordinator, which the nodes know as ${rows[0].address}.`,
  )
}
