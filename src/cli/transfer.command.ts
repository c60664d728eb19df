import { once } from 'node:events'
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { findTenant } from '../domain/tenant/tenant.service.ts'
import { OperatorError } from '../engine/errors.ts'
import type { Rejection } from '../transfer/import.ts'
import { readEventId } from './option-values.ts'
import { showProgress } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export function importCommand(): Command {
  return new Command('import')
    .description(
      'import users, profiles and jobs, or a delta: a JSON record per line, in the format of the REST interface',
    )
    .argument('<file...>', 'the files, in order; - is stdin')
    .requiredOption('--tenant <name>', 'the tenant to import into')
    .option('--rejects <file>', 'write rejected records to this file, with file, line and reason')
    .action((files: string[], { tenant, rejects }: { tenant: string; rejects?: string }) =>
      importFiles(files, tenant, rejects),
    )
}

async function importFiles(files: readonly string[], tenantName: string, rejectsFile?: string): Promise<void> {
  const { importFile } = await import('../transfer/import.ts')
  const sizes = new Map(await Promise.all(files.map(async (name) => [name, await sizeOf(name)] as const)))
  const rejects = rejectsFile === undefined ? undefined : await createFile(rejectsFile)
  let rejected = 0
  const onReject = (rejection: Rejection) => {
    rejected += 1
    process.stderr.write(`${rejection.file}:${rejection.line}: ${rejection.reason}\n`)
    rejects?.write(`${JSON.stringify(rejection)}\n`)
  }
  await withMigratedDatabase(async (database) => {
    const { id: tenantAppId } = await findTenant(database, tenantName)
    const startedAt = performance.now()
    let imported = 0
    for (const name of files) {
      const progress = showProgress(name, sizes.get(name) ?? 0)
      const chunks = name === '-' ? process.stdin : createReadStream(name)
      const options = { tenantAppId, onReject, onProgress: progress.update }
      imported += await importFile(database, { name, chunks }, options)
      progress.end()
    }
    const seconds = (performance.now() - startedAt) / 1_000
    const rate = Math.round(imported / seconds)
    process.stdout.write(
      `Imported ${imported} records in ${seconds.toFixed(1)} s (${rate} records/s), rejected ${rejected}.\n`,
    )
  })
  if (rejects) await finished(rejects.end())
  if (rejected > 0) process.exitCode = 1
}

/** The size of a file in bytes; 0 for stdin. */
async function sizeOf(file: string): Promise<number> {
  if (file === '-') return 0
  const stats = await stat(file).catch(() => undefined)
  if (!stats) throw new OperatorError(`The file ${file} does not exist.`)
  if (stats.isDirectory()) throw new OperatorError(`${file} is a folder.`)
  return stats.size
}

async function createFile(file: string): Promise<WriteStream> {
  const handle = await open(file, 'w', 0o600).catch((error: Error) => {
    throw new OperatorError(`The file ${file} cannot be written: ${error.message}.`)
  })
  return handle.createWriteStream()
}

export function exportCommand(): Command {
  return new Command('export')
    .description('export the users, profiles and jobs of a tenant: a JSON record per line, which import accepts')
    .requiredOption('--tenant <name>', 'the tenant to export')
    .option(
      '--since <event>',
      'export only changes and deletions after the event in the last line of an export',
      readEventId,
    )
    .option('--out <file>', 'write to this file instead of stdout')
    .action(({ tenant: name, out, since }: { tenant: string; out?: string; since?: string }) =>
      withMigratedDatabase(async (database) => {
        const [{ createServices }, { createLogger }, { beginSnapshot, exportTenant }] = await Promise.all([
          import('../domain/services.ts'),
          import('../engine/telemetry/logger.ts'),
          import('../transfer/export.ts'),
        ])
        const tenant = await findTenant(database, name)
        const config = readConfig()
        const log = createLogger(config, process.stderr)
        const services = createServices(database, { ...config, maxReadLength: Number.POSITIVE_INFINITY })
        let target: Writable | undefined
        await database.transact(async () => {
          await beginSnapshot(database)
          for await (const record of exportTenant(services, tenant, log, since)) {
            // A file from before stays if nothing can be exported.
            target ??= out === undefined ? process.stdout : createWriteStream(out, { mode: 0o600 })
            if (!target.write(`${JSON.stringify(record)}\n`)) await once(target, 'drain')
          }
        })
        if (target && target !== process.stdout) await finished(target.end())
      }),
    )
}
