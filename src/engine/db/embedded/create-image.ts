import { randomUUID } from 'node:crypto'
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'
import { packTar } from 'modern-tar/fs'
import { openDatabase } from '../database.ts'
import { deployMigrations } from '../migrations/migrations.ts'
import { imageFile } from './image.ts'

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
    const database = await openDatabase({ kind: 'embedded', dataDir })
    await deployMigrations(database)
    await database.close()
    const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })
    await pipeline(packTar(path.join(dataDir, 'pgdata')), compress, createWriteStream(unfinished))
    renameSync(unfinished, file)
  } finally {
    rmSync(unfinished, { force: true })
    rmSync(dataDir, { recursive: true })
  }
}
