import { afterAll, beforeAll, expect, it } from 'vitest'
import { fusion } from '../support/cli.ts'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'

let database: CommandDatabase

beforeAll(async () => {
  database = await createCommandDatabase()
  await fusion(['tenants', 'create', 'Acme'], database.env)
  await fusion(['seed', '--tenant', 'Acme', '--users', '201'], database.env)
})
afterAll(() => database.remove())

const events = (...options: string[]) => fusion(['events', '--tenant', 'Acme', ...options], database.env)

it('events lists the log of a tenant, and selects by resource, key and time', async () => {
  // Other tests on the server may still have transactions open, which delay events.
  await expect
    .poll(async () => (await events()).stdout.split('\n').filter(Boolean).length, { timeout: 60_000 })
    .toBe(201 + 603 + 2 * 603)
  const { code, stdout, stderr } = await events('--json')
  expect([code, stderr]).toEqual([0, ''])
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ id }) => id)).toEqual(lines.map(({ id }) => id).sort())
  expect(lines[0]).toEqual({
    id: expect.stringMatching(/^evt_/),
    type: 'USER_CREATED',
    resourceId: expect.stringMatching(/^usr_/),
    userId: lines[0].resourceId,
    createdAt: expect.any(String),
    keyId: null,
    requestId: null,
  })
  const history = await events('--resource', lines[0].resourceId)
  expect(history.stdout).toMatch(/^evt_\w+\t\S+\tUSER_CREATED\tusr_\S+\tusr_\S+\t-\t-\n$/)
  expect(await events('--since', '1h', '--key', 'key_1')).toMatchObject({ code: 0, stdout: '' })
  expect((await events('--since', '2099-01-01')).stdout).toBe('')
})

it('events says what is wrong', async () => {
  expect(await fusion(['events'], database.env)).toMatchObject({ code: 2, stderr: expect.stringContaining('--tenant') })
  expect((await events('--since', 'yesterday')).stderr).toContain('or a time ago (15m, 12h, 90d).')
  expect((await fusion(['events', '--tenant', 'Nobody'], database.env)).stderr).toContain(
    'No tenant has the name Nobody.',
  )
})

it('verify erasure looks for a user, and exits with 1 if a row names the user', async () => {
  const [first = ''] = (await events('--json')).stdout.split('\n')
  const { resourceId: id } = JSON.parse(first)
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
