import { createHash, hash as digest } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { zstdDecompressSync } from 'node:zlib'
import { unpackTar } from 'modern-tar/fs'

const root = path.resolve(import.meta.dirname, '../../..')
const ownPackage = path.resolve(import.meta.dirname, '../package.json')

/**
 * The image of an empty database with all migrations, from which new databases are copied: creating and migrating one
 * takes most of a first start. The installation writes it. Its name has a hash of everything that determines it, so an
 * image of other migrations is never used.
 */
export function imageFile(): string {
  const hash = createHash('sha256')
  const { dependencies } = JSON.parse(readFileSync(ownPackage, 'utf8'))
  hash.update(dependencies['@electric-sql/pglite'])
  hash.update(readFileSync(path.join(import.meta.dirname, 'create-image.ts')))
  const scripts = path.join(root, 'prisma')
  for (const name of readdirSync(scripts, { recursive: true, encoding: 'utf8' }).sort()) {
    if (name.endsWith('.sql')) hash.update(`${name}\n${readFileSync(path.join(scripts, name), 'utf8')}`)
  }
  return path.join(root, 'node_modules/.cache/fusion-gateway', `database-${hash.digest('hex').slice(0, 16)}.tar.zst`)
}

/** An archive after its SHA-256: neither tar nor Zstandard notices a missing end. */
export function seal(archive: Buffer): Buffer {
  return Buffer.concat([digest('sha256', archive, 'buffer'), archive])
}

/** @throws if the archive is damaged */
function unseal(sealed: Buffer): Buffer {
  const archive = sealed.subarray(32)
  if (!seal(archive).equals(sealed)) throw new Error('The image is damaged')
  return archive
}

/**
 * Writes the files of an empty database with all migrations into a new folder.
 *
 * @returns false if there is no image of this version, or it is damaged; then there is no folder either
 */
export async function unpackImage(target: string, file = imageFile()): Promise<boolean> {
  if (!existsSync(file)) return false
  try {
    const archive = unseal(readFileSync(file))
    mkdirSync(target, { mode: 0o700 })
    await pipeline(Readable.from([zstdDecompressSync(archive)]), unpackTar(target, { strict: true }))
    return true
  } catch {
    rmSync(target, { recursive: true, force: true })
    return false
  }
}
