import { afterAll, beforeAll, expect, it } from 'vitest'
import { fusion } from '../support/cli.ts'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'

let database: CommandDatabase

beforeAll(async () => {
  database = await createCommandDatabase()
  await fusion(['tenants', 'create', 'Acme'], database.env)
  await fusion(['seed', '--tenant', 'Acme', '--users', '1'], database.env)
})
afterAll(() => database.remove())

it('verify erasure looks for a user, and exits with 1 if a row names the user', async () => {
  const exported = await fusion(['export', '--tenant', 'Acme'], database.env)
  const [first = ''] = exported.stdout.split('\n')
  const { id } = JSON.parse(first)
  // Reading every column takes longer than a request may: the timeout does not hold for this command.
  const env = { ...database.env, DATABASE_STATEMENT_TIMEOUT: '0.001' }
  const verify = (...options: string[]) => fusion(['verify', 'erasure', ...options], env)
  const found = await verify('--user', id, '--tenant', 'Acme')
  expect(found).toMatchObject({ code: 1, stderr: expect.stringContaining(`Some rows name ${id}`) })
  expect(found.stdout).toMatch(/^user\s+id\s+1\s+found$/m)
  expect(found.stdout).toMatch(/^event\s+user_id\s+\d+\s+kept$/m)
  const json = await verify('--user', id, '--json')
  expect(json).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('{"table":"user","column":"id","rows":1,"isKept":false}\n'),
  })
  expect(await verify('--user', 'usr_unknown')).toMatchObject({ code: 0, stdout: '' })
  expect(await verify('--user', 'usr_unknown', '--text', 'nobody', '--text', 'Acme')).toMatchObject({ code: 1 })
  expect(await verify()).toMatchObject({ code: 2, stderr: expect.stringContaining('--user') })
})
