import type { Caller } from '@fusion-gateway/telemetry'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { maxOperations } from '../../src/domain/usage/usage-counts.ts'
import { writeUsage } from '../../src/domain/usage/write-usage.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
})
beforeEach(async () => {
  await write()
  tenant = await app.createTenant()
})
afterAll(() => app.close())

/** Writes what was counted so far, as the gateway does each minute. */
async function write(from = app): Promise<void> {
  const counts = from.services.usageCounts
  for (let taken = counts.take(); taken.length > 0; taken = counts.take()) await writeUsage(app.database, taken)
}

function send(query: string, headers: Record<string, string> = {}, to = app) {
  const { key } = tenant
  return to.app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': key, ...headers },
    payload: { query },
  })
}

interface Row {
  readonly [name: string]: unknown
  readonly requests: number
  readonly errors: number
}

const counted = 'clientName clientVersion operationName requests errors points'

async function read(selection = `nodes { ${counted} }`, args = '(first: 500)'): Promise<Record<string, Row[]>> {
  await write()
  const { data, errors } = await app.graphql<{ usage: Record<string, Row[]> }>(
    tenant,
    `query Read { usage${args} { ${selection} } }`,
  )
  expect(errors).toBeUndefined()
  return data.usage
}

const named = (rows: Row[] | undefined, name: string | null) =>
  rows?.filter(({ operationName }) => operationName === name)

describe('usage', () => {
  it('counts the operations of each client: requests, errors, points, durations and fields', async () => {
    const apollo = { 'apollographql-client-name': 'web', 'apollographql-client-version': '1.2' }
    for (let count = 0; count < 3; count += 1) await send('query Names { users(first: 5) { nodes { name } } }', apollo)
    await send('query Names { users(first: 5) { nodes { name } } }', { 'graphql-client-name': 'app' })
    await send('query Names { users(first: -1) { nodes { name } } }')
    const selection = `nodes { ${counted} day operationHash p50 p95 lastUsedAt keyId keyName fields }`
    const { nodes } = await read(selection)
    const names = named(nodes, 'Names')
    expect(names).toHaveLength(3)
    const web = names?.find(({ clientName }) => clientName === 'web')
    const today = new Date().toISOString().slice(0, 10)
    expect(web).toMatchObject({
      clientVersion: '1.2',
      requests: 3,
      errors: 0,
      points: 3,
      keyId: tenant.keyId,
      day: today,
    })
    expect(web).toMatchObject({
      keyName: `key of ${tenant.name}`,
      operationHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(web?.['fields']).toEqual(['Query.users', 'User.name', 'UserConnection.nodes'])
    expect(Number(web?.['p50'])).toBeGreaterThan(0)
    expect(Number(web?.['p95'])).toBeGreaterThanOrEqual(Number(web?.['p50']))
    expect(names?.find(({ clientName }) => clientName === null)).toMatchObject({ requests: 1, errors: 1 })
  })

  it('counts REST, GET, event streams, and documents with errors as one operation', async () => {
    await app.rest(tenant, 'GET', '/users?limit=1')
    const headers = { 'x-api-key': tenant.key, accept: 'text/event-stream' }
    const query = 'subscription Follow { jobs(first: 1) { id } }'
    await app.rest(tenant, 'POST', '/graphql', {
      query: 'mutation New { createJob(input: { jobType: "t" }) { job { id } } }',
    })
    const stream = await app.app.inject({ url: '/graphql', query: { query }, headers, payloadAsStream: true })
    await stream.stream()[Symbol.asyncIterator]().next()
    stream.stream().destroy()
    for (const query of ['{ nonsense }', '{ users { nodes { nonsense } } }', '{ users {']) await send(query)
    const { nodes } = await read()
    expect(named(nodes, 'ListUsers')).toMatchObject([{ requests: 1, errors: 0 }])
    expect(named(nodes, 'Follow')).toMatchObject([{ requests: 1, errors: 0 }])
    expect(named(nodes, '(invalid)')).toMatchObject([{ requests: 3, errors: 3, points: 0 }])
  })

  it('adds up what two gateways have counted, per operation and per field', async () => {
    const other = await app.startAnother({})
    for (const gateway of [app, other, other]) await send('query Both { users { nodes { phone } } }', {}, gateway)
    await Promise.all([write(app), write(other)])
    await other.close()
    await send('query Both { users { nodes { phone } } }')
    const { nodes, operations, fields } = await read(
      `nodes { ${counted} } operations { ${counted} p50 } fields { field requests lastUsedAt }`,
    )
    expect(named(nodes, 'Both')).toMatchObject([{ requests: 4 }])
    expect(named(operations, 'Both')).toMatchObject([{ requests: 4, p50: expect.any(Number) }])
    expect(fields).toContainEqual({ field: 'User.phone', requests: 4, lastUsedAt: expect.any(String) })
  })

  it('keeps the counts that cannot be written, and loses none', async () => {
    const { usageCounts } = app.services
    await send('query Kept { users { nodes { email } } }')
    const taken = usageCounts.take()
    await send('query Kept { users { nodes { email } } }')
    usageCounts.putBack(taken)
    const { nodes, fields } = await read(`nodes { ${counted} } fields { field requests }`)
    expect(named(nodes, 'Kept')).toMatchObject([{ requests: 2, points: 2 }])
    expect(fields).toContainEqual({ field: 'User.email', requests: 2 })
  })

  it('lists pages, the newest day first, and selects days', async () => {
    await send('query One { users { nodes { id } } }')
    await send('query Two { users { nodes { id } } }')
    await write()
    await app.database.prisma.$executeRaw`
      INSERT INTO operation_usage SELECT tenant_app_id, 'use_20260131' || repeat('a', 24), '2026-01-31', key_id, 'old', NULL, 'Old',
        operation_hash, requests, errors, points, durations, fields, '2026-01-31T08:00:00Z'
      FROM operation_usage WHERE tenant_app_id = ${tenant.tenantAppId} LIMIT 1`
    const first = await read(
      'pageInfo { hasNextPage endCursor } nodes { operationName }',
      '(from: "2026-01-01", first: 2)',
    )
    const { hasNextPage, endCursor } = first['pageInfo'] as unknown as { hasNextPage: boolean; endCursor: string }
    expect([hasNextPage, first['nodes']?.length]).toEqual([true, 2])
    const rest = await read('nodes { operationName }', `(from: "2026-01-01", first: 9, after: "${endCursor}")`)
    expect(rest['nodes']?.at(-1)).toEqual({ operationName: 'Old' })
    const last = await read('nodes { operationName }', '(from: "2026-01-01", last: 1)')
    expect(last['nodes']).toEqual([{ operationName: 'Old' }])
    const january = await read('nodes { operationName day }', '(from: "2026-01-31", to: "2026-01-31")')
    expect(january['nodes']).toEqual([{ operationName: 'Old', day: '2026-01-31' }])
    expect(named((await read())['nodes'], 'Old')).toEqual([])
  })

  it.each([
    ['from: "2026-02-01", to: "2026-01-01"', 'from is after to'],
    ['from: "2025-01-01", to: "2026-12-31"', 'from is more than 366 days before to'],
    ['after: "nonsense"', 'after is not a cursor of usage'],
    ['first: 501', 'first must be from 0 to 500'],
  ])('says what is wrong with %s', async (args, message) => {
    const { errors } = await app.graphql(tenant, `{ usage(${args}) { nodes { id } } }`)
    expect(errors).toMatchObject([{ message: `Invalid input: ${message}.`, extensions: { code: 'BAD_USER_INPUT' } }])
  })

  it('reads each list with one statement, and shows no other tenant', async () => {
    await send('query Mine { users { nodes { id } } }')
    await write()
    const { headers } = await send(
      '{ usage { nodes { id keyName fields } operations { keyName p50 } fields { field } } }',
    )
    // The first one finds the key.
    expect(headers['server-timing']).toContain('"4 statements"')
    const mine = tenant
    tenant = await app.createTenant()
    await send('query Theirs { users { nodes { id } } }')
    expect(named((await read())['nodes'], 'Mine')).toEqual([])
    tenant = mine
    expect(named((await read())['nodes'], 'Theirs')).toEqual([])
  })
})

describe('whatever clients send', () => {
  it('names are cut, and have no characters that terminals obey', async () => {
    const name = `\u001b[31m${'x'.repeat(200)}`
    await send(`query ${'Q'.repeat(300)} { __typename }`, {
      'graphql-client-name': name,
      'graphql-client-version': ' ',
    })
    const { nodes } = await read()
    expect(nodes).toContainEqual(
      expect.objectContaining({
        clientName: `?[31m${'x'.repeat(95)}`,
        clientVersion: null,
        operationName: 'Q'.repeat(100),
      }),
    )
  })

  it('further names count as others in memory and in the table, and fields stay exact', async () => {
    const { usageCounts } = app.services
    const names = maxOperations.ofTenant + 200
    const many = (number: number) =>
      send('query Many { users(first: 1) { nodes { updatedAt } } }', { 'graphql-client-name': `client ${number}` })
    await many(0)
    const [first] = usageCounts.take()
    const [counted] = first?.operations.values() ?? []
    if (!first || !counted) throw new Error('The request was not counted')
    usageCounts.putBack([first])
    // As the requests of further clients are counted, which would take seconds.
    const { keyId, operationName, operationHash } = counted.names
    for (let number = 1; number < names; number += 1) {
      const operation = { name: operationName, hash: operationHash, fields: counted.fields }
      const client = { name: `client ${number}`, version: undefined }
      usageCounts.count({ viewer: { tenantAppId: tenant.tenantAppId, keyId }, client, operation } as Caller, 1, false)
    }
    const [taken] = usageCounts.take()
    expect(taken?.operations.size).toBe(maxOperations.ofTenant + 1)
    usageCounts.putBack(taken ? [taken] : [])
    await write()
    // As if another gateway had got further names.
    for (const number of [1, 2, 3])
      await send('query Later { users { nodes { phone } } }', { 'graphql-client-name': `later ${number}` })
    await many(7)
    await write()
    const rows = await app.database.prisma.operationUsage.findMany({ where: { tenantAppId: tenant.tenantAppId } })
    expect(rows).toHaveLength(maxOperations.ofTenant + 1)
    const others = rows.find(({ operationName }) => operationName === '(other)')
    expect(others).toMatchObject({ clientName: '(other)', operationHash: null, requests: 203n, keyId: tenant.keyId })
    expect(others?.fields).toEqual(expect.arrayContaining(['User.updatedAt', 'User.phone']))
    expect(rows.find(({ clientName }) => clientName === 'client 7')?.requests).toBe(2n)
    const { fields } = await read('fields { field requests }')
    expect(fields).toContainEqual({ field: 'User.updatedAt', requests: names + 1 })
  })
})
