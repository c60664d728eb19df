import fs from 'node:fs'
import path from 'node:path'
import { openEmbedded } from '@fusion-gateway/embedded'
import { expect, it, onTestFinished } from 'vitest'
import { createEmptyDir } from '../support/data-dir.ts'

it('an embedded database is created where a process was killed while it created one', async () => {
  const dataDir = createEmptyDir()
  onTestFinished(() => fs.rmSync(dataDir, { recursive: true }))
  fs.mkdirSync(path.join(dataDir, 'pgdata.new', 'base'), { recursive: true })
  const database = await openEmbedded(dataDir)
  await database.runScript('CREATE TABLE kept (id int)')
  await database.close()
  expect(fs.readdirSync(dataDir)).toEqual(['pgdata'])
})
