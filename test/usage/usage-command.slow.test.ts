import { afterAll, beforeAll, expect, it } from 'vitest'
import { fusion, startCommand } from '../support/cli.ts'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'

let database: CommandDatabase

beforeAll(async () => {
  database = await createCommandDatabase()
})
afterAll(() => database.remove())

it('usage lists what was requested in the last minute before a graceful stop', async () => {
  await fusion(['tenants', 'create', 'Acme'], database.env)
  const { stdout: key } = await fusion(['keys', 'create', '--tenant', 'Acme'], database.env)
  const gateway = await startCommand(['serve'], { PORT: '0', ...database.env }, 'Server listening at')
  const [address] = /http:\/\/[\d.:]+/.exec(gateway.output()) ?? []
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { 'x-api-key': key.trim(), 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'query Names { users { nodes { name } } }' }),
  })
  expect(response.status).toBe(200)
  expect(await gateway.stop()).toMatchObject({ code: 0 })
  const { stdout } = await fusion(['usage', '--json'], database.env)
  expect(JSON.parse(stdout)).toMatchObject({ tenant: 'Acme', operationName: 'Names', requests: 1 })
})
