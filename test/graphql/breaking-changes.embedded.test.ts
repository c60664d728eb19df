import { CriticalityLevel, diff } from '@graphql-inspector/core'
import { buildSchema } from 'graphql'
import { describe, expect, it } from 'vitest'
import { readPage } from '../support/docs.ts'

/** The schema of the last release. At a release, replace it with schema.graphql and empty the list below. */
const released = readPage('test/fixtures/release-0.1.0.graphql')

interface Decision {
  readonly reason: string
  /** The breaking changes, in the words of graphql-inspector. */
  readonly changes: readonly string[]
}

/** The breaking changes since the last release that are accepted. */
const accepted: readonly Decision[] = [
  {
    reason:
      'A field that a scope guards is null without the scope. While it was not nullable, its whole parent was null.',
    changes: [
      `Field 'Profile.addresses' changed type from '[JSONObject!]!' to '[JSONObject!]'`,
      `Field 'Profile.emails' changed type from '[EmailRecord!]!' to '[EmailRecord!]'`,
      `Field 'Profile.phoneNumbers' changed type from '[JSONObject!]!' to '[JSONObject!]'`,
      `Field 'User.email' changed type from 'String!' to 'String'`,
    ],
  },
  {
    reason: 'The error of one field of Query, such as a missing scope, no longer erases the data of the others.',
    changes: [
      `Field 'Query.jobs' changed type from 'JobConnection!' to 'JobConnection'`,
      `Field 'Query.nodes' changed type from '[Node]!' to '[Node]'`,
      `Field 'Query.profiles' changed type from '[Profile!]!' to '[Profile!]'`,
      `Field 'Query.users' changed type from 'UserConnection!' to 'UserConnection'`,
      `Field 'Query.viewer' changed type from 'Viewer!' to 'Viewer'`,
    ],
  },
]

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
