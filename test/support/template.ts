import { randomUUID } from 'node:crypto'
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { distributeTables } from '@fusion-gateway/citus'
import { deployMigrations, partitionTables } from '@fusion-gateway/migrate'
import type { TestProject } from 'vitest/node'
import { openDatabase } from '../../src/database.ts'
import { migrate } from './migrate.ts'
import {
  adminUrl,
  appRole,
  createDatabaseOfOwner,
  dropDatabase,
  hasServer,
  isDistributed,
  nodes,
  ownerUrl,
  prepareServer,
  runAsAdmin,
  runAsAdminOn,
  runOnServers,
} from './postgresql.ts'
import type { Template } from './provided.ts'
import { locationOf } from './settings.ts'

/** Creates the templates once per run. Returns a function that removes them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-test-'))
  // Servers of the tests run as other users.
  chmodSync(folder, 0o755)
  process.env['TEST_RUN_FOLDER'] = folder
  const removeServer = await prepareServer()
  const [embedded, postgresql] = await Promise.all([createEmbedded(folder), createOnServer()])
  project.provide('template', { ...embedded, folder, postgresql })
  return async () => {
    rmSync(folder, { recursive: true })
    if (postgresql !== undefined) await dropDatabase(postgresql)
    await removeServer()
  }
}

async function createEmbedded(folder: string): Promise<Pick<Template, 'dataDir' | 'dumpFile'>> {
  const dataDir = path.join(folder, 'data')
  const database = await openDatabase({ kind: 'embedded', dataDir })
  await deployMigrations(database)
  await database.close()
  const copy = path.join(folder, 'copy')
  cpSync(path.join(dataDir, 'pgdata'), copy, { recursive: true })
  const dumpFile = path.join(folder, 'template.tar')
  writeFileSync(dumpFile, await dump(copy))
  rmSync(copy, { recursive: true })
  return { dataDir, dumpFile }
}

/**
 * Dumps a folder without the databases that no test connects to. They are half of the dump, which every test file
 * loads.
 */
async function dump(folder: string): Promise<Buffer> {
  const pglite = await PGlite.create(folder)
  await pglite.exec('UPDATE pg_database SET datistemplate = false')
  for (const name of ['template0', 'template1']) await pglite.exec(`DROP DATABASE ${name}`)
  const blob = await pglite.dumpDataDir('none')
  await pglite.close()
  return Buffer.from(await blob.arrayBuffer())
}

async function createOnServer(): Promise<string | undefined> {
  if (!hasServer) return undefined
  const name = `fusion_template_${randomUUID().slice(0, 8)}`
  await createDatabaseOfOwner(name)
  if (isDistributed) await createCitus(name)
  // Not UTC, so that tests fail where the gateway relies on the server's time zone.
  if (!isDistributed) await runAsAdmin(`ALTER DATABASE ${name} SET timezone TO 'Asia/Kolkata'`)
  const modulus = Number(process.env['TEST_PARTITIONS'] ?? 0)
  await migrate(ownerUrl(name), appRole(), async ({ driver }) => {
    if (modulus > 0) await partitionTables(driver, { modulus })
  })
  if (isDistributed) await distribute(name)
  return name
}

async function createCitus(name: string): Promise<void> {
  await runOnServers('CREATE EXTENSION citus', name)
  const { hostname, port } = new URL(adminUrl())
  await runAsAdminOn(name, `SELECT citus_set_coordinator_host('${hostname}', ${port || 5432})`)
}

/** The databases of the tests are copies of those of the servers, which lets nobody stay connected to them. */
async function distribute(name: string): Promise<void> {
  const database = await openDatabase(locationOf(adminUrl(name)))
  await distributeTables(database.driver, { nodes, shards: 4 })
  await database.close()
  await runOnServers(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await runOnServers(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${name}'`)
}
