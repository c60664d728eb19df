import { Command } from 'commander'
import type { ExportOptions } from '../actions/export.ts'
import type { ImportOptions } from '../actions/import.ts'
import type { Io } from '../io.ts'
import { readEventId } from './option-values.ts'

export function importCommand(io: Io): Command {
  return new Command('import')
    .description(
      'import users, profiles and jobs, or a delta: a JSON record per line, in the format of the REST interface',
    )
    .argument('<file...>', 'the files, in order; - is stdin')
    .requiredOption('--tenant <name>', 'the tenant to import into')
    .option('--rejects <file>', 'write rejected records to this file, with file, line and reason')
    .action(async (files: string[], options: ImportOptions) =>
      (await import('../actions/import.ts')).importFiles(io, files, options),
    )
}

export function exportCommand(io: Io): Command {
  return new Command('export')
    .description('export the users, profiles and jobs of a tenant: a JSON record per line, which import accepts')
    .requiredOption('--tenant <name>', 'the tenant to export')
    .option(
      '--since <event>',
      'export only changes and deletions after the event in the last line of an export',
      readEventId,
    )
    .option('--out <file>', 'write to this file instead of stdout')
    .action(async (options: ExportOptions) => (await import('../actions/export.ts')).exportRecords(io, options))
}
