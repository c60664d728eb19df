import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Database } from './database.ts'
import { isNotThereYet } from './errors.ts'
import { query, statement } from './statement.ts'

const pauseMilliseconds = 1_000

const ping = statement('SELECT 1')

/**
 * Waits for a database that is not there yet: it starts after this process, or its address is not known yet. An error
 * that waiting does not help against, such as a wrong password, ends it at once.
 *
 * @param options how long it waits at most, what ends it sooner, and the log, which gets a line for each attempt that
 *   fails
 * @throws the error of the last attempt
 */
export async function waitForDatabase(
  { sql, driver }: Pick<Database, 'sql' | 'driver'>,
  options: { readonly milliseconds: number; readonly toldToStop: Promise<void>; readonly log: Pick<Logger, 'warn'> },
): Promise<void> {
  const { milliseconds, toldToStop, log } = options
  let isStopping = false
  void toldToStop.then(() => {
    isStopping = true
  })
  const end = performance.now() + milliseconds
  for (;;) {
    try {
      await query(sql, ping)
      await driver.reachDirectly?.()
      return
    } catch (error) {
      if (!isNotThereYet(error) || performance.now() >= end || isStopping) throw error
      log.warn({ err: error }, 'waiting for the database')
      await Promise.race([sleep(pauseMilliseconds), toldToStop])
    }
  }
}
