import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fusionOn } from '../support/command-database.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let ids: Map<string, string>

beforeAll(async () => {
  database = await createTestDatabase()
  ids = new Map()
  for (const name of ['Acme', 'Other']) {
    ids.set(name, (await call('tenants', 'create', name)).stdout.trim())
    await call('seed', '--tenant', name, '--users', '3')
  }
})
afterAll(() => database.close())

const call = (...args: string[]) => fusionOn(database, args)

async function states(): Promise<Record<string, string>> {
  const { stdout } = await call('tenants', 'list')
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t'))
  return Object.fromEntries(rows.map(([, name = '', , state = '']) => [name, state]))
}

/** Deletes a tenant on a terminal on which a name is typed. */
function removeOnTerminal(name: string, typed: string) {
  const stdin = Object.assign(Readable.from([`${typed}\n`]), { isTTY: true })
  return fusionOn(database, ['tenants', 'delete', name], { stdin })
}

it('a tenant is suspended, resumed, suspended again and deleted', async () => {
  expect(await states()).toEqual({ Acme: 'active', Other: 'active' })
  const active = await call('tenants', 'delete', 'Acme', '--yes', 'Acme')
  expect(active).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'Acme is not suspended. Suspend it first: npm run fusion -- tenants suspend "Acme"\n',
  })
  expect(await call('tenants', 'suspend', 'Acme')).toMatchObject({ code: 0, stdout: 'Suspended Acme.\n' })
  expect(await states()).toEqual({ Acme: 'suspended', Other: 'active' })
  expect(await call('tenants', 'resume', 'Acme')).toMatchObject({ code: 0, stdout: 'Resumed Acme.\n', stderr: '' })
  expect(await call('tenants', 'resume', 'Acme')).toMatchObject({ code: 0, stdout: 'Resumed Acme.\n' })
  expect(await states()).toEqual({ Acme: 'active', Other: 'active' })
  await call('tenants', 'suspend', 'Acme')

  // The last line is the position in the log.
  const exportRecords = async () => (await call('export', '--tenant', 'Acme')).stdout.trim().split('\n').slice(0, -1)
  const exported = await exportRecords()
  expect(exported.length).toBeGreaterThan(6)

  // Without a terminal, and with another name, nothing is deleted.
  const silent = await call('tenants', 'delete', 'Acme')
  expect(silent).toMatchObject({ code: 1, stdout: '', stderr: 'Give the name again: --yes "Acme"\n' })
  const wrong = { code: 1, stdout: '', stderr: 'That is not the name Acme. Nothing was deleted.\n' }
  expect(await call('tenants', 'delete', 'Acme', '--yes', 'acme')).toMatchObject(wrong)
  const typed = await removeOnTerminal('Acme', 'Other')
  expect(typed).toMatchObject({ code: 1, stdout: '' })
  expect(typed.stderr).toContain('This deletes everything of Acme. Type its name: ')
  expect(typed.stderr).toContain(wrong.stderr)
  expect(await exportRecords()).toEqual(exported)

  const id = ids.get('Acme') ?? ''
  expect(await call('verify', 'erasure', '--tenant', id)).toMatchObject({
    code: 1,
    stderr: `The tenant ${id} is not deleted. Look for a user of it with --user.\n`,
  })
  expect(await removeOnTerminal('Acme', 'Acme')).toMatchObject({ code: 0, stdout: `Deleted Acme (${id}).\n` })
  expect(await states()).toEqual({ Other: 'active' })
  expect(await call('verify', 'erasure', '--tenant', id)).toMatchObject({
    code: 0,
    stdout: '',
    stderr: `No row names ${id}.\n`,
  })
  expect(await call('tenants', 'delete', 'Acme', '--yes', 'Acme')).toMatchObject({
    code: 1,
    stderr: 'No tenant has the name Acme. See: npm run fusion -- tenants list\n',
  })
})

it('a name is deleted without a terminal by an option, and can be used again', async () => {
  await call('tenants', 'suspend', 'Other')
  const id = ids.get('Other')
  expect(await call('tenants', 'delete', 'Other', '--yes', 'Other')).toEqual({
    code: 0,
    stdout: `Deleted Other (${id}).\n`,
    stderr: `To look for rows that name it: npm run fusion -- verify erasure --tenant ${id}\n`,
  })
  expect(await call('tenants', 'create', 'Other')).toMatchObject({ code: 0 })
})

it('verify erasure wants a user, or the id of a deleted tenant', async () => {
  expect(await call('verify', 'erasure')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('give a user or a tenant: --user <id>, --tenant <id>'),
  })
  expect(await call('verify', 'erasure', '--tenant', 'Acme')).toMatchObject({
    code: 1,
    stderr: 'Give the id of the deleted tenant, which tenants delete has printed: ten_…\n',
  })
})

it('tenants without arguments and of unknown names say what they need', async () => {
  for (const command of ['suspend', 'resume', 'delete']) {
    expect(await call('tenants', command)).toMatchObject({ code: 2, stdout: '' })
    expect(await call('tenants', command, 'None')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'No tenant has the name None. See: npm run fusion -- tenants list\n',
    })
    expect(await call('tenants', command, '--help')).toMatchObject({ code: 0 })
  }
  expect(await call('tenants', 'export', 'Acme')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('npm run fusion -- export --tenant NAME'),
  })
})
