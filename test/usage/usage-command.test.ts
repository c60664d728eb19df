import { afterAll, beforeAll, expect, it } from 'vitest'
import { startUsageWriter } from '../../src/domain/usage/write-usage.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { fusionOn } from '../support/command-database.ts'

let app: TestApp

const usage = (...options: string[]) => fusionOn(app.database, ['usage', ...options])
const rowsOf = ({ stdout }: { readonly stdout: string }) => stdout.trimEnd().split('\n').filter(Boolean)
const silentLog = { error: () => undefined, warn: () => undefined }

beforeAll(async () => {
  app = await startTestApp()
  await fusionOn(app.database, ['tenants', 'create', 'Acme'])
  await fusionOn(app.database, ['tenants', 'create', 'Other'])
  const { stdout } = await fusionOn(app.database, ['keys', 'create', '--tenant', 'Acme', '--name', 'backend'])
  const send = async (query: string, client: string) => {
    const headers = { 'x-api-key': stdout.trim(), 'graphql-client-name': client }
    const { statusCode } = await app.app.inject({ method: 'POST', url: '/graphql', headers, payload: { query } })
    expect(statusCode).toBe(200)
  }
  await send('query Names { users { nodes { name } } }', 'web')
  await send('query Names { users { nodes { name } } }', 'web')
  await send('query Phones { users { nodes { name phone } } }', 'app')
  await startUsageWriter(app.services, { log: silentLog })()
})
afterAll(() => app.close())

it('usage lists who has requested what', async () => {
  const lines = rowsOf(await usage('--tenant', 'Acme'))
  expect(lines).toEqual([
    expect.stringMatching(/^Acme\tNames\t[0-9a-f]{64}\tweb\t-\tbackend\t2\t0\t2\t[\d.]+\t[\d.]+\t20\d\d-\S+Z$/),
    expect.stringMatching(/^Acme\tPhones\t[0-9a-f]{64}\tapp\t-\tbackend\t1\t0\t1\t/),
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

it('usage --deprecated lists the deprecated fields of the schema', async () => {
  const { code, stdout, stderr } = await usage('--deprecated')
  expect([code, stderr]).toEqual([0, ''])
  const names = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0])
  expect(names).toEqual(['account', 'job', 'jobs', 'profile', 'user'].map((name) => `Subscription.${name}`))
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
