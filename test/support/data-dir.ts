import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { inject } from 'vitest'

/** Creates an empty folder: the data folder of a first start. */
export function createEmptyDir(): string {
  return mkdtempSync(path.join(tmpdir(), 'fusion-data-'))
}

/** Creates a data folder whose embedded database is migrated and empty. */
export function createDataDir(folder = createEmptyDir()): string {
  cpSync(inject('template').dataDir, folder, { recursive: true })
  return folder
}
