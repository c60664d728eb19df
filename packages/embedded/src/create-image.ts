import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { zstdCompressSync } from 'node:zlib'
import type { Driver } from '@fusion-gateway/sql'
import { packTar } from 'modern-tar/fs'
import { openEmbedded } from './embedded.ts'
import { imageFile, seal } from './image.ts'

/**
 * Writes the image of this version, unless it exists, and removes those of others.
 *
 * @param migrate applies all migrations to an empty database
 */
export async function createImage(migrate: (driver: Driver) => Promise<unknown>): Promise<void> {
  const file = imageFile()
  if (existsSync(file)) return
  const folder = path.dirname(file)
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) rmSync(path.join(folder, name))
  const dataDir = mkdtempSync(path.join(tmpdir(), 'fusion-image-'))
  const unfinished = `${file}.${randomUUID().slice(0, 8)}`
  try {
    const driver = await openEmbedded(dataDir)
    await migrate(driver)
    // Nobody can connect to these databases. They are two thirds of the files.
    await driver.runScript('UPDATE pg_database SET datistemplate = false')
    for (const name of ['template0', 'template1']) await driver.runScript(`DROP DATABASE ${name}`)
    await driver.close()
    const archive = await buffer(packTar(path.join(dataDir, 'pgdata')))
    writeFileSync(unfinished, seal(zstdCompressSync(archive)))
    renameSync(unfinished, file)
  } finally {
    rmSync(unfinished, { force: true })
    rmSync(dataDir, { recursive: true })
  }
}
