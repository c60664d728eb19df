import type { SqlQueryable } from '@prisma/driver-adapter-utils'
import { OperatorError } from '../../errors.ts'
import type { Connector } from '../adapter.ts'
import { isConcurrent, splitConcurrent } from './concurrent-indexes.ts'

/** Applies the script of a migration and a statement that records it, both or neither. */
export type Apply = (script: string, finish: string) => Promise<void>

interface Target {
  readonly connector: Connector
  readonly sql: SqlQueryable
  readonly apply: Apply
}

/**
 * The connector with which the script of a migration also records that the migration is finished. PostgreSQL runs a
 * script as one transaction. The schema engine records it later, when it cannot know whether an interrupted migration
 * has run.
 */
export function finishing(
  { connector, sql, apply }: Target,
  scripts: ReadonlyMap<string, string>,
  onFailure: (failure: OperatorError) => void,
): Connector {
  const names = new Map([...scripts].map(([name, script]) => [script, name]))
  return {
    ...connector,
    async runScript(script) {
      const name = names.get(script)
      if (name === undefined) return connector.runScript(script)
      const finish = `UPDATE _prisma_migrations SET finished_at = now()
        WHERE migration_name = '${name}' AND finished_at IS NULL AND rolled_back_at IS NULL`
      try {
        if (isConcurrent(script)) {
          for (const statement of await splitConcurrent(sql, script)) await connector.runScript(statement)
          await connector.runScript(finish)
        } else await apply(script, finish)
      } catch (error) {
        onFailure(new OperatorError(failureOf(name, script, error), { cause: error }))
        throw error
      }
    },
  }
}

function failureOf(name: string, script: string, error: unknown): string {
  const { message = String(error), detail } = error as { readonly message?: string; readonly detail?: string }
  return (
    `The migration ${name} failed: ${message}${detail ? `. ${detail}` : ''}\n` +
    `${isConcurrent(script) ? 'Some of its indexes may exist.' : 'It changed nothing.'} When the cause is removed, run it again: npm run fusion -- migrate deploy`
  )
}
