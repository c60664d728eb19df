import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { readConfig } from '../../config.ts'
import { createServices } from '../../domain/services.ts'
import { findTenant } from '../../domain/tenant/tenant.service.ts'
import type { Database } from '../../engine/db/database.ts'
import { createLogger } from '../../engine/telemetry/logger.ts'
import { beginSnapshot, exportTenant } from '../../transfer/export.ts'
import type { Io } from '../io.ts'
import { patient, withMigratedDatabase } from './with-database.ts'
import { writeTo } from './write-to.ts'

export interface ExportOptions {
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
    const write = async () => {
      await beginSnapshot(database)
      for await (const record of exportTenant(services, tenant, log, since)) {
        // A file from before stays if nothing can be exported.
        target ??= out === undefined ? io.stdout : createWriteStream(out, { mode: 0o600 })
        await writeTo(target, `${JSON.stringify(record)}\n`)
      }
    }
    // A standby can end a long snapshot (40001). What is written cannot be taken back.
    await database.transact(write, { runsOnce: true })
    if (target && target !== io.stdout) await finished(target.end())
  }
  return withMigratedDatabase(io, work, patient)
}
