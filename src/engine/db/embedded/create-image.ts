import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { zstdCompressSync } from 'node:zlib'
import { packTar } from 'modern-tar/fs'
import { createDatabase } from '../database.ts'
import { deployMigrations } from '../migrations/migrations.ts'
import { openEmbedded } from './embedded.ts'
import { imageFile, seal } from './image.ts'

/** Writes the image of this version, unless it exists, and removes those of others. */
export async function createImage(): Promise<void> {
  const file = imageFile()
  if (existsSync(file)) return
  const folder = path.dirname(file)
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) rmSync(path.join(folder, name))
  const dataDir = mkdtempSync(path.join(tmpdir(), 'fusion-image-'))
  const unfinished = `${file}.${randomUUID().slice(0, 8)}`
  try {
    const database = await createDatabase(await openEmbedded(dataDir))
    await deployMigrations(database)
    // Nobody can connect to these databases. They are two thirds of the files.
    await database.sql.runScript('UPDATE pg_database SET datistemplate = false')
    for (const name of ['template0', 'template1']) await database.sql.runScript(`DROP DATABASE ${name}`)
    await database.close()
    const archive = await buffer(packTar(path.join(dataDir, 'pgdata')))
    writeFileSync(unfinished, seal(zstdCompressSync(archive)))
    renameSync(unfinished, file)
  } finally {
    rmSync(unfinished, { force: true })
    rmSync(dataDir, { recursive: true })
  }
}
