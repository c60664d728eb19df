import { Command } from 'commander'
import type { Io } from '../io.ts'

export function backupCommand(io: Io): Command {
  return new Command('backup')
    .argument('<file>', 'the file to write. It must not exist')
    .description('write a backup of the embedded database. Stop the gateway first')
    .action(async (file: string) => (await import('../actions/backup.ts')).writeBackup(io, file))
}

export function restoreCommand(io: Io): Command {
  return new Command('restore')
    .argument('<file>', 'a backup')
    .description('restore a backup of the embedded database into DATA_DIR, which must have no database')
    .action(async (file: string) => (await import('../actions/backup.ts')).restoreBackup(io, file))
}
