import { readFile } from 'node:fs/promises'
import { OperatorError } from '@fusion-gateway/base'
import type { Database } from '@fusion-gateway/database'
import { gatherStatistics } from '@fusion-gateway/sql'
import { readConfig } from '../../config.ts'
import { findTenant } from '../../domain/tenant/tenant.service.ts'
import { createReader } from '../../old-service/reader.ts'
import { importService, type Refusal, type ServiceImported } from '../../transfer/import-service.ts'
import type { Io } from '../io.ts'
import { credentialHeaders } from './credential.ts'
import { printJson, showProgress } from './terminal.ts'
import { createRejects, keepHeapSmall, writeTo } from './transfer.ts'
import { patient, withMigratedDatabase } from './with-database.ts'

export interface ImportServiceOptions {
  readonly tenant: string
  readonly from: string
  readonly key?: string
  readonly dryRun?: boolean
  readonly jobs?: string
  readonly rate: number
  readonly rejects?: string
}

/** Imports users, profiles and jobs from the earlier service. Prints what was refused, and the counts of both sides. */
export async function importFrom(io: Io, options: ImportServiceOptions): Promise<void> {
  if (io === process) keepHeapSmall()
  const { tenant, from: url, dryRun: isDryRun = false, rate } = options
  const key = options.key ?? readConfig(io.env).oldApiKey
  if (key === undefined) throw new OperatorError('Set OLD_API_KEY to the key of the old service, or give --key.')
  const jobIds = options.jobs === undefined ? [] : await readIds(options.jobs)
  const onRetry = (message: string) => void io.stderr.write(`${message}\n`)
  const reader = createReader({ url, credential: credentialHeaders(key), rate, onRetry })

  const work = async (database: Database) => {
    const { id: tenantAppId } = await findTenant(database, tenant)
    const rejects = await createRejects(options.rejects, ({ text: _, ...refusal }: Refusal) =>
      writeTo(io.stdout, `${JSON.stringify({ refused: refusal })}\n`),
    )
    let progress: ReturnType<typeof showProgress> | undefined
    const onPart = (part: string, total: number) => {
      progress?.end()
      progress = showProgress(io.stderr, part, total, part === 'users' ? undefined : part)
      return progress.update
    }
    try {
      const given = { tenantAppId, reader, jobIds, isDryRun, onReject: rejects.add, onPart }
      const imported = await importService(database, given)
      progress?.end()
      if (imported.rows > 0 && !isDryRun) await gatherStatistics(database.sql)
      printJson(io.stdout, imported.counts)
      io.stderr.write(`${summaryOf(imported, isDryRun)}\n`)
      if (imported.refused > 0) io.exitCode = 1
    } finally {
      await rejects.end()
      reader.close()
    }
  }
  await withMigratedDatabase(io, work, patient)
}

function summaryOf({ rows, refused, cutTimes }: ServiceImported, isDryRun: boolean): string {
  const written = isDryRun ? `Nothing was written. The import would write ${rows} rows` : `Wrote ${rows} rows`
  const cut = cutTimes > 0 ? ` ${cutTimes} times were cut to milliseconds.` : ''
  return `${written}, ${isDryRun ? 'and refuse' : 'refused'} ${refused} records.${cut}`
}

/** The ids in the lines of a file. */
async function readIds(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new OperatorError(`The file ${file} cannot be read: ${error.message}.`)
  })
  const ids = text.split('\n').map((line) => line.trim())
  return [...new Set(ids.filter((id) => id !== ''))]
}
