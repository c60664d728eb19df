import { once } from 'node:events'
import { createReadStream, createWriteStream, fstatSync, type Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setFlagsFromString } from 'node:v8'
import { OperatorError } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import { gatherStatistics, type Sql } from '@fusion-gateway/sql'
import { createLogger } from '@fusion-gateway/telemetry'
import { readConfig } from '../../config.ts'
import { createServices } from '../../domain/services.ts'
import { findTenant } from '../../domain/tenant/tenant.service.ts'
import { beginSnapshot, exportTenant } from '../../transfer/export.ts'
import { importFile, type Rejection } from '../../transfer/import.ts'
import type { Io } from '../io.ts'
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
    const rejects = await createRejects(options.rejects, (rejection: Rejection) =>
      writeTo(io.stderr, `${describe(rejection)}\n`),
    )
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

async function sizeOf(file: string): Promise<number> {
  if (file === '-') return 0
  const stats = await stat(file).catch(() => undefined)
  if (!stats) throw new OperatorError(`The file ${file} does not exist.`)
  if (stats.isDirectory()) throw new OperatorError(`${file} is a folder.`)
  return stats.size
}

/**
 * Lets V8 collect garbage earlier. By default its heap grows by hundreds of MiB first, which is faster. A command that
 * works through a long file for minutes waits for the database instead, and needs little at a time.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=50')
}

/**
 * Prints rejected records, and writes them to a file for its owner only, if one is given.
 *
 * @throws OperatorError if the file cannot be written
 */
export async function createRejects<Rejected>(file: string | undefined, print: (rejected: Rejected) => Promise<void>) {
  const stream = file === undefined ? undefined : await createFile(file)
  // The next write, or the end, throws the error.
  stream?.on('error', () => undefined)
  let count = 0
  return {
    get count() {
      return count
    },
    async add(rejected: Rejected): Promise<void> {
      count += 1
      await print(rejected)
      if (stream) await writeTo(stream, `${JSON.stringify(rejected)}\n`)
    },
    async end(): Promise<void> {
      if (stream) await finished(stream.end())
    },
  }
}

/** `users.ndjson:1: users[12] "usr_1": name: must not be blank`, in one line whatever the id and the reason contain. */
function describe({ file, line, list, index, id, reason }: Rejection): string {
  const place = list === undefined ? [] : [`${list}[${index}]`]
  const name = [...place, ...(id === undefined ? [] : [JSON.stringify(id)])].join(' ')
  return [`${file}:${line}`, name, reason]
    .filter(Boolean)
    .join(': ')
    .replace(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * Requires that the file of rejected records is none of the files that are read: it is emptied.
 *
 * @param files the names of the files that are read; `-` is stdin
 */
async function requireOtherFile(io: Pick<Io, 'stdin'>, rejects: string, files: readonly string[]): Promise<void> {
  const target = await stat(rejects).catch(() => undefined)
  if (!target) return
  for (const file of files) {
    const source = file === '-' ? statOfStdin(io) : await stat(file)
    if (target.isFile() && source?.ino === target.ino && source.dev === target.dev) {
      throw new OperatorError(
        `The rejected records would replace the file that is read: ${rejects}. Name another file.`,
      )
    }
  }
}

/** A shell can read a file as stdin. */
function statOfStdin({ stdin }: Pick<Io, 'stdin'>): Stats | undefined {
  const { fd } = stdin as { readonly fd?: number }
  return fd === undefined ? undefined : fstatSync(fd)
}

async function createFile(file: string) {
  const handle = await open(file, 'w', 0o600).catch((error: Error) => {
    throw new OperatorError(`The file ${file} cannot be written: ${error.message}.`)
  })
  return handle.createWriteStream()
}

interface ExportOptions {
  readonly tenant: string
  readonly out?: string
  readonly since?: string
}

export function exportRecords(io: Io, { tenant: name, out, since }: ExportOptions): Promise<void> {
  const work = async (database: Database) => {
    const tenant = await findTenant(database, name)
    const config = readConfig(io.env)
    const log = createLogger(config, io.stderr)
    const services = createServices(database, { ...config, maxReadLength: Number.POSITIVE_INFINITY })
    let target: Writable | undefined
    const write = async (sql: Sql) => {
      await beginSnapshot(sql)
      const snapshot = { ...services, database: { ...database, sql } }
      for await (const record of exportTenant(snapshot, tenant, log, since)) {
        // A file from before stays if nothing can be exported.
        target ??= out === undefined ? io.stdout : createWriteStream(out, { mode: 0o600 })
        await writeTo(target, `${JSON.stringify(record)}\n`)
      }
    }
    // A standby can end a long snapshot (40001). What is written cannot be taken back.
    await database.sql.transact(write, { runsOnce: true })
    if (target && target !== io.stdout) await finished(target.end())
  }
  return withMigratedDatabase(io, work, patient)
}

/** Writes to a stream, and waits while its reader is slower. Rejects also with the error of an earlier write. */
export async function writeTo(stream: Writable, text: string): Promise<void> {
  if (stream.errored) throw stream.errored
  if (!stream.write(text)) await once(stream, 'drain')
}
