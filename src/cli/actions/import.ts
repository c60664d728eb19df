import { createReadStream, type WriteStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { finished } from 'node:stream/promises'
import { findTenant } from '../../domain/tenant/tenant.service.ts'
import { OperatorError } from '../../engine/errors.ts'
import { importFile, type Rejection } from '../../transfer/import.ts'
import type { Io } from '../io.ts'
import { showProgress } from './terminal.ts'
import { withMigratedDatabase } from './with-database.ts'

export interface ImportOptions {
  readonly tenant: string
  readonly rejects?: string
}

export async function importFiles(io: Io, files: readonly string[], options: ImportOptions): Promise<void> {
  const sizes = new Map(await Promise.all(files.map(async (name) => [name, await sizeOf(name)] as const)))
  const rejects = options.rejects === undefined ? undefined : await createFile(options.rejects)
  let rejected = 0
  const onReject = (rejection: Rejection) => {
    rejected += 1
    io.stderr.write(`${rejection.file}:${rejection.line}: ${rejection.reason}\n`)
    rejects?.write(`${JSON.stringify(rejection)}\n`)
  }
  await withMigratedDatabase(io, async (database) => {
    const { id: tenantAppId } = await findTenant(database, options.tenant)
    const startedAt = performance.now()
    let imported = 0
    for (const name of files) {
      const progress = showProgress(io.stderr, name, sizes.get(name) ?? 0)
      const chunks = name === '-' ? io.stdin : createReadStream(name)
      imported += await importFile(database, { name, chunks }, { tenantAppId, onReject, onProgress: progress.update })
      progress.end()
    }
    const seconds = (performance.now() - startedAt) / 1_000
    const rate = Math.round(imported / seconds)
    io.stdout.write(
      `Imported ${imported} records in ${seconds.toFixed(1)} s (${rate} records/s), rejected ${rejected}.\n`,
    )
  })
  if (rejects) await finished(rejects.end())
  if (rejected > 0) io.exitCode = 1
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
