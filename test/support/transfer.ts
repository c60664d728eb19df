import type { TenantApp } from '@fusion-gateway/database'
import { createServices } from '../../src/domain/services.ts'
import { beginSnapshot, exportTenant } from '../../src/transfer/export.ts'
import { importFile, type Rejection } from '../../src/transfer/import.ts'
import { type TestDatabase, withNewSessions } from './database.ts'
import { settings } from './settings.ts'

const silentLog = { error: () => undefined, warn: () => undefined }

/** The records of an export or of a delta, each a line, and the event in its last line. */
export interface Exported {
  readonly text: string
  readonly event: string
}

/** The last line of an export: the event after which a delta continues. */
export const lastLine = /\{"event":"(.*)"\}\n$/

/** An export without its last line. */
export const recordsOf = (text: string) => text.replace(lastLine, '')

/** Exports a tenant, or a delta of it, as the command does. */
export async function exportAll(database: TestDatabase, tenant: TenantApp, since?: string): Promise<Exported> {
  const lines: string[] = []
  await withNewSessions(database, (sessions) => {
    const services = createServices(sessions, { ...settings, maxReadLength: Number.POSITIVE_INFINITY })
    return sessions.sql.transact(async (sql) => {
      await beginSnapshot(sql)
      const snapshot = { ...services, database: { ...sessions, sql } }
      for await (const record of exportTenant(snapshot, tenant, silentLog, since)) lines.push(JSON.stringify(record))
    })
  })
  const { event } = JSON.parse(lines.pop() ?? '')
  return { text: lines.map((line) => `${line}\n`).join(''), event }
}

/** Imports a text in chunks of an odd size, which split lines. */
export async function importText(database: TestDatabase, tenant: TenantApp, text: string | Buffer) {
  const rejections: Rejection[] = []
  const bytes = Buffer.from(text)
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += 65_521) yield bytes.subarray(at, at + 65_521)
  }
  const options = { tenantAppId: tenant.id, onReject: (rejection: Rejection) => void rejections.push(rejection) }
  const file = { name: 'file', chunks: chunks() }
  const imported = await withNewSessions(database, (sessions) => importFile(sessions, file, options))
  return { imported, rejections }
}
