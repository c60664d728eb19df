import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'

let app: TestApp
let tenant: TestTenant

beforeAll(async () => {
  app = await startTestApp({ introspection: false })
  tenant = await app.createTenant()
  // The first document makes much ready that those after it find.
  await ask({ query: '{ viewer { keyName } }' })
  await ask({ query: '{ nobody }' })
})
afterAll(() => app.close())

/** What it takes of this thread, in milliseconds: the machine may have other things to do, and there is nothing to wait for. */
async function ask(payload: object | string) {
  const began = process.threadCpuUsage()
  const answer = await app.app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': tenant.key, 'content-type': 'application/json' },
    payload,
  })
  const { user, system } = process.threadCpuUsage(began)
  return { answer, took: (user + system) / 1_000 }
}

const times = (count: number, of: (at: number) => string) => Array.from({ length: count }, (_, at) => of(at)).join(' ')
const nested = (depth: number, open: string, close: string, inside = '') =>
  open.repeat(depth) + inside + close.repeat(depth)

/** Each as it is written, and once more with its size halved until it is allowed to be parsed at all. */
const documents: [string, string, object?][] = [
  ['fields 20,000 deep', `{${nested(20_000, 'a{', '}', 'b')}}`],
  ['fields 190 deep', `{${nested(190, 'a{', '}', 'b')}}`],
  ['lists 20,000 deep', `{ users(filter: ${nested(20_000, '[', ']')}) { nodes { id } } }`],
  ['lists 190 deep', `{ users(filter: ${nested(190, '[', ']')}) { nodes { id } } }`],
  ['list types 20,000 deep', `query ($a: ${nested(20_000, '[', ']', 'Int')}) { viewer { keyName } }`],
  ['list types 190 deep', `query ($a: ${nested(190, '[', ']', 'Int')}) { viewer { keyName } }`],
  ['objects 190 deep', `{ users(filter: ${nested(190, '{a:', '}', '1')}) { nodes { id } } }`],
  ['3,000 duplicate fields', `{ viewer { ${times(3_000, () => 'keyName')} } }`],
  ['1,900 duplicate fields with arguments that differ', `{ ${times(240, (at) => `user(id: "${at}") { id }`)} }`],
  [
    '200 × 100 inline fragments',
    `{ ${times(200, () => `... { ${times(100, () => '... { viewer { keyName } }')} }`)} }`,
  ],
  ['30 × 15 inline fragments', `{ ${times(30, () => `... { ${times(15, () => '... { a }')} }`)} }`],
  ['3,000 aliases', `{ ${times(3_000, (at) => `a${at}: viewer { keyName }`)} }`],
  ['300 aliases', `{ ${times(300, (at) => `a${at}: viewer { keyName }`)} }`],
  ['3,000 directives', `{ viewer ${times(3_000, () => '@include(if: true)')} { keyName } }`],
  ['300 directives that nobody knows', `{ viewer ${times(300, (at) => `@d${at}`)} { keyName } }`],
  ['200 directives of one kind', `{ viewer ${times(200, () => '@skip(if: false)')} { keyName } }`],
  ['a fragment within itself', '{ viewer { ...A } } fragment A on Viewer { ...A }'],
  [
    'fragments in a circle',
    `{ viewer { ...F0 } } ${times(100, (at) => `fragment F${at} on Viewer { ...F${(at + 1) % 100} }`)}`,
  ],
  [
    'a circle of fragments below fields',
    '{ users { nodes { ...A } } } fragment A on User { accounts { user { ...A } } }',
  ],
  [
    'fragments that each name the next one twice, too deep',
    `{ users { nodes { ...F0 } } } ${times(60, (at) => `fragment F${at} on User { accounts { user { ...F${at + 1} } } b: accounts { user { ...F${at + 1} } } }`)} fragment F60 on User { id }`,
  ],
  ['1,000 variables', `query (${times(1_000, (at) => `$v${at}: Int`)}) { viewer { keyName } }`],
  ['300 variables that nobody uses', `query (${times(300, (at) => `$v${at}: Int`)}) { viewer { keyName } }`],
  ['a list of 300 that differ in kind', `{ nodes(ids: [${times(300, (at) => (at % 2 ? '{}' : '1.5'))}]) { id } }`],
  ['100 operations of one name', times(100, () => 'query A { viewer { keyName } }')],
  ['introspection in depth', `{ __schema { types { ${nested(9, 'fields { type { ', '} }', 'name')} } } }`],
  ['a text of 200,000 characters', `{ user(id: "${'x'.repeat(200_000)}") { id } }`],
  ['a block text', `{ user(id: """${'\\n '.repeat(20_000)}""") { id }`],
  ['a number of 90,000 digits', `{ users(first: ${'9'.repeat(90_000)}) { nodes { id } } }`],
  ['comments alone', '# '.repeat(40_000)],
  [
    'a list in a variable, 100,000 long',
    'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }',
    { ids: Array(100_000).fill('a') },
  ],
  [
    '100,000 values of another type',
    'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }',
    { ids: Array(100_000).fill({}) },
  ],
  [
    '100,000 fields that nobody knows',
    'query ($f: UserFilter) { users(filter: $f) { nodes { id } } }',
    { f: Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`f${at}`, 1])) },
  ],
]

describe('a hostile document is a client’s error, soon', () => {
  it.each(documents)('%s', async (_, query, variables) => {
    const statements = await app.statementsOf(async () => {
      const runs = [await ask({ query, variables }), await ask({ query, variables }), await ask({ query, variables })]
      for (const { answer } of runs) {
        expect(answer.statusCode).toBeLessThan(500)
        const { errors } = answer.json() as { errors: { extensions: { code: string } }[] }
        expect(errors.length).toBeGreaterThan(0)
        for (const { extensions } of errors) {
          expect(['BAD_USER_INPUT', 'TOO_EXPENSIVE', 'PAYLOAD_TOO_LARGE', 'MALFORMED_REQUEST']).toContain(
            extensions.code,
          )
        }
        expect(answer.body.length).toBeLessThan(100_000)
      }
      // The best of three: garbage of the others may be collected meanwhile.
      expect(Math.min(...runs.map(({ took }) => took))).toBeLessThan(250)
    })
    expect(statements).toEqual([])
  })
})

it('the gateway is as well as before', async () => {
  expect((await ask({ query: '{ viewer { keyName } }' })).answer.json().errors).toBeUndefined()
})
