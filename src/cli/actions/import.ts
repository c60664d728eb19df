import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { findTenant } from '../../domain/tenant/tenant.service.ts'
import type { Database } from '../../engine/db/database.ts'
import { gatherStatistics } from '../../engine/db/gather-statistics.ts'
import { OperatorError } from '../../engine/errors.ts'
import { importFile } from '../../transfer/import.ts'
import type { Io } from '../io.ts'
import { keepHeapSmall } from './keep-heap-small.ts'
import { createRejects, requireOtherFile } from './rejects.ts'
import { showProgress } from './terminal.ts'
import { patient, withMigratedDatabase } from './with-database.ts'

export interface ImportOptions {
  readonly tenant: string
  readonly rejects?: string
}

export async function importFiles(io: Io, files: readonly string[], options: ImportOptions): Promise<void> {
  // Not the heap of a test that runs this command within its own process.
  if (io === process) keepHeapSmall()
  const sizes = new Map(await Promise.all(files.map(async (name) => [name, await sizeOf(name)] as const)))
  if (options.rejects !== undefined) await requireOtherFile(io, options.rejects, files)
  const work = async (database: Database) => {
    const { id: tenantAppId } = await findTenant(database, options.tenant)
    const rejects = await createRejects(io, options.rejects)
    const startedAt = performance.now()
    let imported = 0
    for (const name of files) {
      const progress = showProgress(io.stderr, name, sizes.get(name) ?? 0)
      const chunks = name === '-' ? io.stdin : createReadStream(name)
      const callbacks = { onReject: rejects.add, onProgress: progress.update }
      imported += await importFile(database, { name, chunks }, { tenantAppId, ...callbacks })
      progress.end()
    }
    await rejects.end()
    if (imported > 0) await gatherStatistics(database.sql)
    const seconds = (performance.now() - startedAt) / 1_000
    const rate = Math.round(imported / seconds)
    io.stdout.write(
      `Imported ${imported} records in ${seconds.toFixed(1)} s (${rate} records/s), rejected ${rejects.count}.\n`,
    )
    if (rejects.count > 0) io.exitCode = 1
  }
  await withMigratedDatabase(io, work, patient)
}

/** The size of a file in bytes; 0 for stdin. */
async function sizeOf(file: string): Promise<number> {
  if (file === '-') return 0
  const stats = await stat(file).catch(() => undefined)
  if (!stats) throw new OperatorError(`The file ${file} does not exist.`)
  if (stats.isDirectory()) throw new OperatorError(`${file} is a folder.`)
  return stats.size
}
