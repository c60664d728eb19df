import { OperatorError } from '@fusion-gateway/base'
import { backUp, restore } from '@fusion-gateway/embedded'
import { readConfig } from '../../config.ts'
import type { Io } from '../io.ts'

export async function writeBackup(io: Io, file: string): Promise<void> {
  await backUp(embeddedFolder(io, 'pg_dump'), file)
  io.stdout.write(`Wrote ${file}\n`)
}

export async function restoreBackup(io: Io, file: string): Promise<void> {
  const folder = embeddedFolder(io, 'pg_restore')
  await restore(folder, file)
  io.stdout.write(`Restored ${folder}\n`)
}

/** @throws OperatorError if the database is not in a folder */
function embeddedFolder({ env }: Io, tool: string): string {
  const { database } = readConfig(env)
  if (database.kind === 'embedded' && database.dataDir !== 'memory') return database.dataDir
  throw new OperatorError(
    `This is for the embedded database in DATA_DIR. For PostgreSQL, use ${tool}: docs/operating.md`,
  )
}
