import { createHash } from 'node:crypto'
import { createReadStream, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { unpackTar } from 'modern-tar/fs'

const root = path.resolve(import.meta.dirname, '../../../..')

/**
 * The image of an empty database with all migrations, from which new databases are copied: creating and migrating one takes most of a first
 * start. The installation writes it. Its name has a hash of everything that determines it, so an image of other migrations is never used.
 */
export function imageFile(): string {
  const hash = createHash('sha256')
  const { dependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
  hash.update(dependencies['@electric-sql/pglite'])
  const migrations = path.join(root, 'prisma/migrations')
  for (const name of readdirSync(migrations, { recursive: true, encoding: 'utf8' }).sort()) {
    if (name.endsWith('.sql')) hash.update(`${name}\n${readFileSync(path.join(migrations, name), 'utf8')}`)
  }
  return path.join(root, 'node_modules/.cache/fusion-gateway', `database-${hash.digest('hex').slice(0, 16)}.tar.zst`)
}

/**
 * Writes the files of an empty database with all migrations into a new folder.
 *
 * @returns false if there is no image of this version, or it is damaged; then there is no folder either
 */
export async function unpackImage(target: string): Promise<boolean> {
  const file = imageFile()
  if (!existsSync(file)) return false
  try {
    mkdirSync(target, { mode: 0o700 })
    // The compressed file has a checksum.
    await pipeline(createReadStream(file), createZstdDecompress(), unpackTar(target, { strict: true }))
    return true
  } catch {
    rmSync(target, { recursive: true, force: true })
    return false
  }
}
