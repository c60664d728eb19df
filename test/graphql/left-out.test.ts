import { type GraphQLInputObjectType, getNamedType, getNullableType, isInputObjectType, isListType } from 'graphql'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { addressOf } from '../support/events.ts'
import { factoriesFor } from '../support/factories.ts'
import { connectTo } from '../support/mcp.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())
beforeEach(async () => {
  tenant = await app.createTenant()
  const make = factoriesFor(app, tenant)
  await make.job({ id: 'pending', status: 'PENDING', jobType: 'greet' })
  await make.job({ id: 'failed', status: 'FAILED', jobType: 'greet' })
  await make.user({ id: 'usr_1' })
})

interface Payload {
  readonly userErrors: readonly { readonly code: string; readonly field: string[]; readonly message: string }[]
  readonly [result: string]: unknown
}

/** The payload of a mutation, which is the same interpreted and compiled. */
async function run(mutation: string, variables: object = {}): Promise<Payload> {
  const payloads: unknown[] = []
  for (const _executor of ['interpreted', 'interpreted or compiled', 'compiled']) {
    const { data, errors } = await app.graphql<Record<string, Payload>>(tenant, mutation, { ...variables })
    expect(errors).toBeUndefined()
    payloads.push(...Object.values(data))
  }
  expect(payloads[1]).toEqual(payloads[0])
  expect(payloads[2]).toEqual(payloads[0])
  return payloads[0] as Payload
}

/** What the mutations take besides required ids, and what they do without it. */
const decisions = {
  'cancelJobs.filter': 'restricts: every condition in it has a value, or {} selects all',
  'retryJobs.filter': 'restricts: every condition in it has a value, or {} selects all',
  'createAccessToken.scopes': 'restricts: has a value, or is not named',
  'createApiKey.scopes': 'restricts: has a value, or is not named',
  'redeliverEvents.eventIds': 'either it or `after` is required, and it never restricts `after`',
  'redeliverEvents.events': 'exactly one of its fields has a value',
  'updateWebhook.eventTypes': 'keeps its value',
  'syncProfile.addresses': 'absent keeps the list of the one profile, null clears it',
  'syncProfile.emails': 'absent keeps the list of the one profile, null clears it',
  'syncProfile.phoneNumbers': 'absent keeps the list of the one profile, null clears it',
  'syncProfile.unsupportedFields': 'absent keeps the list of the one profile, null clears it',
  'createWebhook.eventTypes': 'required, and not empty',
  'createWebhook.fields': 'restricts: has a value, or is not named',
  'updateWebhook.fields': 'absent keeps the list, null clears it',
  'claimJobs.jobTypes': 'required, and not empty',
}

it('each filter and each list that a mutation takes has a decision. The lists of bulk writes are required', () => {
  const taken = Object.values(schemas.schema.getMutationType()?.getFields() ?? {}).flatMap(({ name, args }) => {
    const input = args.find((argument) => argument.name === 'input')
    if (!input) return []
    return Object.values((getNamedType(input.type) as GraphQLInputObjectType).getFields())
      .filter(({ type }) => isListType(getNullableType(type)) || isInputObjectType(getNullableType(type)))
      .map((field) => `${name}.${field.name}`)
  })
  expect(taken.toSorted()).toEqual(Object.keys(decisions).toSorted())
})

describe.each([
  ['cancelJobs', 'CancelJobsInput', 'cancelledCount'],
  ['retryJobs', 'RetryJobsInput', 'retriedCount'],
])('%s', (name, type, count) => {
  const selected = `{ ${count} userErrors { code field message } }`
  const rejects = (...fields: string[]) => ({
    [count]: null,
    userErrors: fields.map((field) => ({
      code: 'REQUIRED',
      field: ['filter', field],
      message: expect.stringContaining('must not be null or a variable without a value'),
    })),
  })
  const changes = async (mutation: string, variables = {}) => {
    const { data } = await app.graphql<Record<string, Payload>>(tenant, mutation, variables)
    return data[name]
  }

  it('rejects a condition that a variable leaves out, or makes null', async () => {
    const mutation = `mutation ($type: String) { ${name}(input: { filter: { jobType: $type } }) ${selected} }`
    expect(await run(mutation)).toEqual(rejects('jobType'))
    expect(await run(mutation, { type: null })).toEqual(rejects('jobType'))
    expect(await changes(mutation, { type: 'greet' })).toEqual({ [count]: 1, userErrors: [] })
  })

  it('rejects a condition that is null, also beside others', async () => {
    expect(await run(`mutation { ${name}(input: { filter: { jobType: null } }) ${selected} }`)).toEqual(
      rejects('jobType'),
    )
    const mutation = `mutation ($after: DateTime) { ${name}(input: { filter: { jobType: "greet", createdAfter: $after, createdBefore: null } }) ${selected} }`
    expect(await run(mutation)).toEqual(rejects('createdAfter', 'createdBefore'))
  })

  it('rejects such a condition in a filter within a list', async () => {
    const rejected = (field: string[]) => ({
      [count]: null,
      userErrors: [{ code: 'REQUIRED', field: ['filter', ...field], message: expect.any(String) }],
    })
    const inDocument = `mutation ($type: String) { ${name}(input: { filter: { or: [{ ids: ["pending", "failed"] }, { jobType: $type }] } }) ${selected} }`
    expect(await run(inDocument)).toEqual(rejected(['or', '1', 'jobType']))
    const single = `mutation ($type: String) { ${name}(input: { filter: { and: { jobType: $type } } }) ${selected} }`
    expect(await run(single)).toEqual(rejected(['and', '0', 'jobType']))
    const inVariable = `mutation ($filter: JobFilter!) { ${name}(input: { filter: $filter }) ${selected} }`
    expect(await run(inVariable, { filter: { and: [{ not: { jobTypes: null } }] } })).toEqual(
      rejected(['and', '0', 'not', 'jobTypes']),
    )
  })

  it('rejects such a condition in a variable with the filter or the whole input', async () => {
    const filter = { jobType: null, status: null }
    const ofFilter = `mutation ($filter: JobFilter!) { ${name}(input: { filter: $filter }) ${selected} }`
    expect(await run(ofFilter, { filter })).toEqual(rejects('jobType', 'status'))
    const ofInput = `mutation ($input: ${type}!) { ${name}(input: $input) ${selected} }`
    expect(await run(ofInput, { input: { filter } })).toEqual(rejects('jobType', 'status'))
    const withDefault = `mutation ($input: ${type}! = { filter: { jobType: null } }) { ${name}(input: $input) ${selected} }`
    expect(await run(withDefault)).toEqual(rejects('jobType'))
  })

  it.each([
    ['in the document', `mutation { ${name}(input: { filter: {} }) ${selected} }`, {}],
    ['as a variable', `mutation ($f: JobFilter!) { ${name}(input: { filter: $f }) ${selected} }`, { f: {} }],
    ['in a variable', `mutation ($i: ${type}!) { ${name}(input: $i) ${selected} }`, { i: { filter: {} } }],
    ['by a default', `mutation ($f: JobFilter = {}) { ${name}(input: { filter: $f }) ${selected} }`, {}],
    [
      'by the default of a condition',
      `mutation ($t: String = "greet") { ${name}(input: { filter: { jobType: $t } }) ${selected} }`,
      {},
    ],
  ])('selects all with the filter {} %s', async (_, mutation, variables) => {
    expect(await changes(mutation, variables)).toEqual({ [count]: 1, userErrors: [] })
  })

  it('reads a trusted document that is a tool of MCP alike', async () => {
    const text = `"""Changes jobs.""" mutation ChangeJobs($type: String) { ${name}(input: { filter: { jobType: $type } }) ${selected} }`
    const gateway = await app.startAnother({
      trustedDocuments: { others: 'log', byId: new Map([['1', text]]), texts: new Set([text]) },
    })
    const { call } = await connectTo(await addressOf(gateway), { 'x-api-key': tenant.key })
    expect((await call('change_jobs', {})).json.data).toEqual({ [name]: rejects('jobType') })
    await gateway.close()
  })
})

describe.each([
  ['updateUser', 'User', ['name', 'email']],
  ['updateUsers', 'User', ['name', 'email']],
  ['updateAccount', 'Account', ['displayName', 'status']],
  ['updateWebhook', 'Webhook', ['url', 'eventTypes', 'enabled']],
])('null for a column of %s that always has a value', (name, model, fields) => {
  const inputType = `Update${model}Input`
  it('is rejected by the name of the field, also for a missing row', async () => {
    const rejected = (prefix: readonly string[] = []) =>
      fields.map((field) => ({
        code: 'REQUIRED',
        field: [...prefix, field],
        message: 'must not be null. Leave it out to keep its value',
      }))
    const input = { id: 'missing', ...Object.fromEntries(fields.map((field) => [field, null])) }
    const errors = 'userErrors { code field message }'
    const isBulk = name.endsWith('s')
    const mutation = isBulk
      ? `mutation ($input: [${inputType}!]!) { ${name}(inputs: $input) { results { ${errors} } } }`
      : `mutation ($input: ${inputType}!) { ${name}(input: $input) { ${errors} } }`
    const sorted = (list: readonly object[]) =>
      list.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    const payload = (await run(mutation, { input: isBulk ? [input] : input })) as unknown as {
      results?: Payload[]
    } & Payload
    const { userErrors } = payload.results?.[0] ?? payload
    expect(sorted(userErrors)).toEqual(sorted(rejected(isBulk ? ['inputs', '0'] : [])))
  })

  it('is no error if the field is absent', async () => {
    const mutation = `mutation ($input: ${inputType}!) { update${model}(input: $input) { userErrors { code field } } }`
    expect(await run(mutation, { input: { id: 'missing' } })).toEqual({
      userErrors: [{ code: 'NOT_FOUND', field: ['id'] }],
    })
  })
})

describe('a credential', () => {
  const rejects = (field: string) => ({
    userErrors: [
      {
        code: 'REQUIRED',
        field: [field],
        message: expect.stringContaining('must not be null or a variable without a value'),
      },
    ],
  })

  it.each([
    ['createAccessToken', 'scopes', '[String!]', '{ userId: "usr_1", scopes: $value }'],
    ['createApiKey', 'scopes', '[String!]', '{ name: "n", scopes: $value }'],
  ])('of %s is not created without the %s that the document names', async (name, field, type, input) => {
    const mutation = `mutation ($value: ${type}) { ${name}(input: ${input}) { userErrors { code field message } } }`
    expect(await run(mutation)).toEqual(rejects(field))
    expect(await run(mutation, { value: null })).toEqual(rejects(field))
    const inputType = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
    const whole = `mutation ($input: ${inputType}!) { ${name}(input: $input) { userErrors { code field message } } }`
    const given = { ...(name === 'createApiKey' && { name: 'n' }), [field]: null }
    expect(await run(whole, { input: given })).toEqual(rejects(field))
  })

  it('is bound to no user on purpose, by null, and not by a variable without a value', async () => {
    const mutation = `mutation ($value: ID) {
      createAccessToken(input: { userId: $value, scopes: ["users:read"] }) { userErrors { code field message } } }`
    expect(await run(mutation)).toEqual(rejects('userId'))
    expect(await run(mutation, { value: null })).toEqual({ userErrors: [] })
  })

  it('is created if the document does not name them', async () => {
    const mutation = `mutation ($input: CreateAccessTokenInput!) {
      createAccessToken(input: $input) { userErrors { message } }
      createApiKey(input: { name: "n" }) { userErrors { message } } }`
    const { data } = await app.graphql(tenant, mutation, { input: {} })
    expect(data).toEqual({ createAccessToken: { userErrors: [] }, createApiKey: { userErrors: [] } })
  })
})
