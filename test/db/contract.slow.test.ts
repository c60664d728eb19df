import { afterAll, beforeAll, expect, it } from 'vitest'
import { createNextVersion, type NextVersion } from '../distributed/further-migrations.ts'
import { fusion, runProcess } from '../support/cli.ts'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'

let database: CommandDatabase
let next: NextVersion
beforeAll(async () => {
  database = await createCommandDatabase()
  next = await createNextVersion()
})
afterAll(async () => {
  next?.remove()
  await database?.remove()
})

const nothing = { code: 0, stdout: 'Nothing to apply.\nNothing to drop.\n', stderr: '' }

it('migrate deploy --contract drops nothing from a new database', async () => {
  expect(await fusion(['migrate', 'deploy', '--contract'], database.ownerEnv)).toEqual(nothing)
})

it('migrate deploy reminds of what only the previous version needs, and --contract drops it once', async () => {
  next.writeContract(`-- The index with which the previous version searches.
    -- Another sentence; with a semicolon.
DROP INDEX CONCURRENTLY IF EXISTS "user_folded_search_idx";
`)
  const ofNext = (...args: string[]) => runProcess(['migrate', ...args], database.ownerEnv, next.command)
  const reminded = await ofNext('deploy')
  expect(reminded).toMatchObject({ code: 0, stderr: '' })
  expect(reminded.stdout).toMatch(/^Nothing to apply\.\nWhen no gateway .* migrate deploy --contract\. .*\n$/)
  const dropped = 'Nothing to apply.\nDropped user_folded_search_idx\n'
  expect(await ofNext('deploy', '--contract')).toEqual({ ...nothing, stdout: dropped })
  expect(await ofNext('deploy', '--contract')).toEqual(nothing)
  expect(await ofNext('status')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('missing') })
})
