import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createOneOfEach } from '../support/factories.ts'

// Names that every JavaScript object inherits are names like any other for a client.
const names = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'valueOf']

let app: TestApp
let tenant: TestTenant
let ids: { readonly user: string; readonly account: string; readonly job: string }

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  const { user, account, job } = await createOneOfEach(app, tenant)
  ids = { user: user.id, account: account.id, job: job.id }
})
afterAll(() => app.close())

/**
 * Sends an operation as text, so that the order of keys and a `__proto__` stay, and returns the text of each of three
 * responses.
 */
async function send(query: string, variables = '{}'): Promise<string[]> {
  const texts: string[] = []
  for (const _time of [1, 2, 3]) {
    const { body } = await app.app.inject({
      method: 'POST',
      url: '/graphql',
      payload: `{"query":${JSON.stringify(query)},"variables":${variables}}`,
      headers: { 'x-api-key': tenant.key, 'content-type': 'application/json' },
    })
    texts.push(body)
  }
  return texts
}

/** The responses to operations with the usual name, which are the same for all names. */
const plainResponses = new Map<string, Promise<string[]>>()

/** The responses with the usual name instead. They differ in nothing else. */
async function sendPlain(name: string, query: string, variables = '{}'): Promise<string[]> {
  const plain = (text: string) => text.replaceAll(new RegExp(`(?<![A-Za-z_])${name}(?![A-Za-z_])`, 'g'), 'plain')
  const key = `${plain(query)} ${plain(variables)}`
  const responses = plainResponses.get(key) ?? send(plain(query), plain(variables))
  plainResponses.set(key, responses)
  return (await responses).map((text) => text.replaceAll('plain', name))
}

describe.each(names)('the name %s', (name) => {
  it.each([
    ['an alias of the root', `{ ${name}: users(first: 1) { nodes { id } } }`],
    ['an alias of a list', `{ users(first: 1) { ${name}: nodes { id accounts { ${name}: profile { fullName } } } } }`],
    ['an alias of a text', `{ users(first: 1) { nodes { ${name}: id name ${name}: id } } }`],
    ['an alias of __typename', `{ users(first: 1) { nodes { ${name}: __typename } } }`],
    ['an alias in an introspection', `{ __schema { queryType { ${name}: name } } }`],
  ])('can be %s, interpreted and compiled', async (_, query) => {
    expect(await send(query)).toEqual(await sendPlain(name, query))
  })

  it.each([
    ['left out', '{}'],
    ['null', `{"${name}":null}`],
    ['given', `{"${name}":1}`],
  ])('can be a variable that is %s', async (_, variables) => {
    for (const query of [
      `query ($${name}: Int) { users(last: $${name}) { nodes { id } } }`,
      `query ($${name}: Int = 2) { users(first: $${name}) { nodes { id } } }`,
      `mutation ($${name}: Int) { createJob(input: { jobType: "a", payload: { x: $${name}, y: [$${name}] } }) { job { payload } userErrors { message } } }`,
    ]) {
      expect(await send(query, variables)).toEqual(await sendPlain(name, query, variables))
    }
  })

  it('can be a variable of a filter, of a list and of a directive', async () => {
    for (const [query, variables] of [
      [`query ($${name}: String) { users(first: 1, filter: { nameContains: $${name} }) { nodes { id } } }`, '{}'],
      [`query ($${name}: ID!) { nodes(ids: [$${name}]) { id } }`, `{"${name}":"${ids.user}"}`],
      [`query ($${name}: Boolean!) { users(first: 1) { nodes { id name @skip(if: $${name}) } } }`, `{"${name}":true}`],
    ] as const) {
      expect(await send(query, variables)).toEqual(await sendPlain(name, query, variables))
    }
  })

  it('does not change the cost of a response that does not have it', async () => {
    const query = `{ node(id: "${ids.job}") { id ... on User { ${name}: accounts { id } } } }`
    expect(await send(query)).toEqual(await sendPlain(name, query))
  })
})
