import { CriticalityLevel, diff } from '@graphql-inspector/core'
import { buildSchema } from 'graphql'
import { describe, expect, it } from 'vitest'
import { printSubgraphSchema } from '../../src/domain/schema.graphql.ts'
import { findBreaks } from '../../tools/supergraph/breaks.ts'
import { readPage } from '../support/docs.ts'

/** The schema of the last release. At a release, replace it with schema.graphql and empty the list below. */
const released = readPage('test/fixtures/release-0.2.0.graphql')

interface Decision {
  readonly reason: string
  /** The breaking changes, in the words of graphql-inspector. */
  readonly changes: readonly string[]
}

/** The breaking changes since the last release that are accepted. */
const accepted: readonly Decision[] = []

/**
 * Compares two schemas. Returns the breaking changes that no decision accepts, and the decided changes that are
 * missing.
 */
async function compare(before: string, after: string, decisions: readonly Decision[]) {
  const changes = await diff(buildSchema(before), buildSchema(after))
  const breaking = changes.filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking)
  const made = new Set(breaking.map(({ message }) => message))
  return {
    notAccepted: [...made].filter((change) => !decisions.some(({ changes }) => changes.includes(change))),
    missing: decisions.flatMap(({ changes }) => changes.filter((change) => !made.has(change))),
  }
}

const nothing = { notAccepted: [], missing: [] }

it('schema.graphql has no breaking change since the last release, except for the accepted ones', async () => {
  expect(await compare(released, readPage('schema.graphql'), accepted)).toEqual(nothing)
})

describe('the comparison', () => {
  const before = 'type Query { a: Int! }'
  const a = `Field 'Query.a' changed type from 'Int!' to 'Int'`

  it('reports a breaking change', async () => {
    expect(await compare(before, 'type Query { a: Int c: Int }', [])).toEqual({ ...nothing, notAccepted: [a] })
  })

  it('reports an accepted change that does not exist', async () => {
    expect(await compare(before, before, [{ reason: '', changes: [a] }])).toEqual({ ...nothing, missing: [a] })
  })
})

describe('what breaks a supergraph', () => {
  const earlier = readPage('test/fixtures/subgraph.graphql')
  const today = printSubgraphSchema()
  const orders = { name: 'orders', text: readPage('examples/supergraph/orders.graphql') }

  const user = 'type User implements Node @key(fields: "id") @key(fields: "externalId") {'

  /** The breaks if the text of today's subgraph is changed. */
  function breaksWith(from: string, to: string): Promise<string[]> {
    expect(today).toContain(from)
    return findBreaks(earlier, today.replace(from, to), [orders])
  }

  it("is not in today's subgraph; to accept a break: node tools/supergraph/check.ts --write", async () => {
    expect(await findBreaks(earlier, today, [orders])).toEqual([])
  })

  it('is not a new field', async () => {
    expect(await breaksWith(user, `${user}\n  nickName: String`)).toEqual([])
  })

  it('is a field that clients of the router lose', async () => {
    expect(await breaksWith('  phoneNumbers: [JSONObject!] @', '  telephones: [JSONObject!] @')).toEqual([
      "Clients of the router: Field 'phoneNumbers' was removed from object type 'Profile'.",
    ])
  })

  it('is a key by which the other subgraph refers to accounts', async () => {
    const [first, ...others] = await breaksWith(' @key(fields: "platform platformAccountId")', '')
    expect(first).toBe('Other subgraphs can no longer rely on Account @key(fields: "platform platformAccountId").')
    expect(others).toContainEqual(
      expect.stringMatching(/^The supergraph with orders no longer composes: .*platformAccountId/s),
    )
  })

  it('is a key to which no subgraph of the example refers', async () => {
    const type = 'type EmailRecord implements Node'
    expect(await breaksWith(`${type} @key(fields: "id")`, type)).toContain(
      'Other subgraphs can no longer rely on EmailRecord @key(fields: "id").',
    )
  })

  it('is a type that several subgraphs have and that can no longer be shared', async () => {
    expect(await breaksWith('type PageInfo @shareable', 'type PageInfo')).toEqual([
      'Other subgraphs can no longer rely on PageInfo @shareable.',
    ])
  })

  it('is a field that another team has added to the type', async () => {
    expect(await breaksWith(user, `${user}\n  orders: [String!]`)).toContainEqual(
      expect.stringMatching(/^The supergraph with orders no longer composes: .*orders/s),
    )
  })

  it('cannot be told if the earlier subgraph does not compose either', async () => {
    const other = { name: 'other', text: 'type Query { a: Missing }' }
    await expect(findBreaks(earlier, today, [other])).rejects.toThrow(
      'The earlier subgraph does not compose with other: ',
    )
  })
})
