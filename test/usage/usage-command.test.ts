import { afterAll, beforeAll, expect, it } from 'vitest'
import { fusion, startCommand } from '../support/cli.ts'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'

let database: CommandDatabase

const usage = (...options: string[]) => fusion(['usage', ...options], database.env)
const rowsOf = ({ stdout }: { readonly stdout: string }) => stdout.trimEnd().split('\n').filter(Boolean)

beforeAll(async () => {
  database = await createCommandDatabase()
  await fusion(['tenants', 'create', 'Acme'], database.env)
  await fusion(['tenants', 'create', 'Other'], database.env)
  const { stdout } = await fusion(['keys', 'create', '--tenant', 'Acme', '--name', 'backend'], database.env)
  const gateway = await startCommand(['serve'], { PORT: '0', ...database.env }, 'Server listening at')
  const [address] = /http:\/\/[\d.:]+/.exec(gateway.output()) ?? []
  const send = async (query: string, client: string) => {
    const headers = { 'x-api-key': stdout.trim(), 'content-type': 'application/json', 'graphql-client-name': client }
    const response = await fetch(`${address}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query }),
    })
    expect(response.status).toBe(200)
  }
  await send('query Names { users { nodes { name } } }', 'web')
  await send('query Names { users { nodes { name } } }', 'web')
  await send('query Phones { users { nodes { name phone } } }', 'app')
  // A graceful stop writes what was counted in the last minute.
  expect(await gateway.stop()).toMatchObject({ code: 0 })
})
afterAll(() => database.remove())

it('usage lists who has requested what, and nothing was lost when the gateway stopped', async () => {
  const lines = rowsOf(await usage('--tenant', 'Acme'))
  expect(lines).toEqual([
    expect.stringMatching(/^Acme\tNames\t[0-9a-f]{64}\tweb\t-\tbackend\t2\t0\t40\t[\d.]+\t[\d.]+\t20\d\d-\S+Z$/),
    expect.stringMatching(/^Acme\tPhones\t[0-9a-f]{64}\tapp\t-\tbackend\t1\t0\t20\t/),
  ])
  expect(rowsOf(await usage('--operation', 'Phones')).map((line) => line.split('\t')[1])).toEqual(['Phones'])
  expect(rowsOf(await usage('--tenant', 'Other'))).toEqual([])
})

it('usage --field says whether a field may be removed, and who still selects it', async () => {
  const used = await usage('--field', 'User.phone', '--json')
  const rows = rowsOf(used).map((line) => JSON.parse(line))
  expect(rows).toMatchObject([
    { tenant: 'Acme', operationName: 'Phones', clientName: 'app', key: 'backend', requests: 1 },
  ])
  expect(used.stderr).toMatch(
    /^1 requests have selected User\.phone since 20\d\d-\d\d-\d\d, .* the last one at 20\d\d-\S+Z\.\n$/,
  )
  const unused = await usage('--field', 'User.email')
  expect(unused).toMatchObject({ code: 0, stdout: '' })
  expect(unused.stderr).toMatch(
    /^No request has selected User\.email since 20\d\d-\d\d-\d\d, when the first request was counted\.\n$/,
  )
})

it('usage --deprecated lists the deprecated fields of the schema, of which there are none', async () => {
  expect(await usage('--deprecated')).toEqual({ code: 0, stdout: '', stderr: '' })
})

it('usage says what is wrong', async () => {
  for (const field of ['User.phon', 'CreateUserInput.name', 'User', 'User.phone.x']) {
    expect(await usage('--field', field)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('such as User.email'),
    })
  }
  expect((await usage('--tenant', 'Nobody')).stderr).toContain('No tenant has the name Nobody.')
  expect((await usage('--deprecated', '--field', 'User.phone')).code).toBe(2)
})
