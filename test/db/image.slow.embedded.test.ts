import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createImage, imageFile, unpackImage } from '@fusion-gateway/embedded'
import { deployMigrations, readMigrationStatus } from '@fusion-gateway/migrate'
import { Sql } from '@fusion-gateway/sql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database.ts'

describe('the image of an empty database', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-image-'))
  // The installation has written it, unless migrations have changed since.
  beforeAll(() => createImage((driver) => deployMigrations({ driver, sql: new Sql(driver) })))
  afterAll(() => rmSync(folder, { recursive: true }))

  it('is what a new database is copied from: it has all migrations from the start', async () => {
    const database = await openDatabase({ kind: 'embedded', dataDir: path.join(folder, 'data') }, { usesImage: true })
    const { pending, failed } = await readMigrationStatus(database.sql)
    expect([pending, failed, await database.prisma.tenantApp.count()]).toEqual([[], [], 0])
    await database.close()
  })

  it('is copied with 256 open files at most', () => {
    const dataDir = path.join(folder, 'few')
    const command = 'ulimit -n 256 && exec "$0" bin/fusion.js tenants list'
    const { status, stderr } = spawnSync('sh', ['-c', command, process.execPath], {
      cwd: path.resolve(import.meta.dirname, '../..'),
      env: { ...process.env, DATABASE_URL: '', DATA_DIR: dataDir },
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([0, ''])
  })

  it('is not used if it is damaged or missing, and leaves nothing', async () => {
    const image = readFileSync(imageFile())
    const damaged = path.join(folder, 'damaged')
    for (const position of [100, image.length >> 1, image.length - 2]) {
      const copy = Buffer.from(image)
      copy.writeUInt8(copy.readUInt8(position) ^ 1, position)
      writeFileSync(damaged, copy)
      expect(await unpackImage(path.join(folder, 'new'), damaged)).toBe(false)
    }
    writeFileSync(damaged, image.subarray(0, image.length >> 1))
    expect(await unpackImage(path.join(folder, 'new'), damaged)).toBe(false)
    expect(await unpackImage(path.join(folder, 'new'), path.join(folder, 'missing'))).toBe(false)
    // The folder is free for a new database.
    expect(await unpackImage(path.join(folder, 'new'))).toBe(true)
  })
})
