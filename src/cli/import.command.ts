import { createReadStream, createWriteStream, statSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { SingleBar } from 'cli-progress'
import { Command } from 'commander'
import { OperatorError } from '../operator.ts'
import { findTenant } from '../tenant/tenant.service.ts'
import type { Rejection } from '../transfer/import.ts'
import { withMigratedDatabase } from './with-database.ts'

/** `fusion import`. What it does is loaded when it is called. */
export function importCommand(): Command {
  return new Command('import')
    .description('bring users, profiles and jobs in: a JSON record a line, as the REST interface writes them')
    .argument('<file...>', 'the files, in order; - is stdin')
    .requiredOption('--tenant <name>', 'the tenant to import into')
    .option('--rejects <file>', 'write every record that was refused there too, with file, line and reason')
    .action((files: string[], { tenant, rejects }: { tenant: string; rejects?: string }) =>
      importFiles(files, tenant, rejects),
    )
}

async function importFiles(files: readonly string[], tenantName: string, rejectsFile?: string): Promise<void> {
  const { importFile } = await import('../transfer/import.ts')
  const rejects = rejectsFile === undefined ? undefined : createWriteStream(rejectsFile)
  let rejected = 0
  const onReject = (rejection: Rejection) => {
    rejected += 1
    process.stderr.write(`${rejection.file}:${rejection.line}: ${rejection.reason}\n`)
    rejects?.write(`${JSON.stringify(rejection)}\n`)
  }
  await withMigratedDatabase(async (database) => {
    const { id: tenantAppId } = await findTenant(database, tenantName)
    const started = performance.now()
    let imported = 0
    for (const name of files) {
      const bar = new SingleBar({ format: `${name} {bar} {percentage}%, {eta_formatted} left`, noTTYOutput: false })
      if (name !== '-' && process.stderr.isTTY) bar.start(sizeOf(name), 0)
      const chunks = name === '-' ? process.stdin : createReadStream(name)
      imported += await importFile(
        database,
        { name, chunks },
        { tenantAppId, onReject, onProgress: (bytes) => bar.update(bytes) },
      )
      bar.stop()
    }
    const seconds = (performance.now() - started) / 1_000
    process.stdout.write(
      `Imported ${imported} records in ${seconds.toFixed(1)} s (${Math.round(imported / seconds)} records/s), refused ${rejected}.\n`,
    )
  })
  if (rejects) await finished(rejects.end())
  if (rejected > 0) process.exitCode = 1
}

function sizeOf(file: string): number {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats) throw new OperatorError(`There is no file ${file}.`)
  return stats.size
}
