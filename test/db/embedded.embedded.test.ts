import fs from 'node:fs'
import path from 'node:path'
import { OperatorError } from '@fusion-gateway/base'
import { openEmbedded } from '@fusion-gateway/embedded'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { runHere } from '../support/cli.ts'
import { createDataDir, createEmptyDir } from '../support/data-dir.ts'

const dataDir = createDataDir()
const files = path.join(dataDir, 'pgdata')

afterAll(() => fs.rmSync(dataDir, { recursive: true }))

describe('the embedded database', () => {
  it('has a commit on the disk before it answers', async () => {
    const database = await openEmbedded(dataDir)
    await database.runScript('CREATE TABLE kept (id int)')
    const synced: string[] = []
    const fsync = fs.fsyncSync
    const spy = vi.spyOn(fs, 'fsyncSync').mockImplementation((descriptor) => {
      synced.push(fs.readlinkSync(`/proc/self/fd/${descriptor}`))
      fsync(descriptor)
    })
    await database.runScript('INSERT INTO kept VALUES (1)')
    spy.mockRestore()
    expect(synced).toContainEqual(expect.stringMatching(/pgdata\/pg_wal\/[0-9A-F]{24}$/))
    await database.close()
  })

  it('opens after a loss of power that left an empty postmaster.pid', async () => {
    fs.writeFileSync(path.join(files, 'postmaster.pid'), '')
    const database = await openEmbedded(dataDir)
    await database.runScript(
      `DO $$ BEGIN IF (SELECT count(*) FROM kept) < 1 THEN RAISE EXCEPTION 'rows are missing'; END IF; END $$`,
    )
    await database.close()
    expect(fs.readdirSync(dataDir)).toEqual(['pgdata'])
  })

  const damages: [name: string, damage: (file: string) => void][] = [
    ['PG_VERSION', (file) => fs.rmSync(file)],
    ['global/pg_control', (file) => fs.truncateSync(file)],
    ['base', (file) => fs.rmSync(file, { recursive: true })],
  ]
  it.each(damages)(
    'is not opened, and not overwritten, with a damaged %s; the error says what to do',
    async (name, damage) => {
      const damaged = createEmptyDir()
      fs.cpSync(files, path.join(damaged, 'pgdata'), { recursive: true })
      damage(path.join(damaged, 'pgdata', name))
      const before = fs.readdirSync(path.join(damaged, 'pgdata'))
      const problem = `The database in ${damaged}/pgdata does not open: its files are damaged, or of another PostgreSQL version. Restore a copy of ${damaged}, or move it away to start with an empty database.`
      await expect(openEmbedded(damaged)).rejects.toThrow(new OperatorError(problem))
      // Every command opens it so. One shows that it prints the error.
      if (name === 'PG_VERSION') {
        expect(await runHere(['serve'], { DATA_DIR: damaged })).toMatchObject({ code: 1, stderr: `${problem}\n` })
      }
      expect(fs.readdirSync(path.join(damaged, 'pgdata'))).toEqual(expect.arrayContaining(before))
      fs.rmSync(damaged, { recursive: true })
    },
  )
})
