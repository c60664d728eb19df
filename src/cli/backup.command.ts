import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { OperatorError } from '../engine/errors.ts'

export function backupCommand(): Command {
  return new Command('backup')
    .argument('<file>', 'the file to write. It must not exist')
    .description('write a backup of the embedded database. Stop the gateway first')
    .action(async (file: string) => {
      const { backUp } = await import('../engine/db/embedded/backup.ts')
      await backUp(embeddedFolder('pg_dump'), file)
      process.stdout.write(`Wrote ${file}\n`)
    })
}

export function restoreCommand(): Command {
  return new Command('restore')
    .argument('<file>', 'a backup')
    .description('restore a backup of the embedded database into DATA_DIR, which must have no database')
    .action(async (file: string) => {
      const { restore } = await import('../engine/db/embedded/backup.ts')
      const folder = embeddedFolder('pg_restore')
      await restore(folder, file)
      process.stdout.write(`Restored ${folder}\n`)
    })
}

/** @throws OperatorError if the database is not in a folder */
function embeddedFolder(tool: string): string {
  const { database } = readConfig()
  if (database.kind === 'embedded' && database.dataDir !== 'memory') return database.dataDir
  throw new OperatorError(
    `This is for the embedded database in DATA_DIR. For PostgreSQL, use ${tool}: docs/operating.md`,
  )
}
