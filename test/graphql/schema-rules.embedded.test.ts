import { readFileSync } from 'node:fs'
import { parse } from 'graphql'
import { expect, it } from 'vitest'
import { printSortedSchema } from '../../src/domain/schema.graphql.ts'
import { problemsOf } from '../../tools/lint/schema-rules.ts'

const text = printSortedSchema()

it('the schema has what clients can rely on for every type', () => {
  expect(problemsOf(parse(text))).toEqual([])
})

it.each([
  [/^ {2}profile(?=\()/m, '  profileById', undefined],
  [/^ {2}profile\((?=[^)]*id: ID!)/m, '  profile(of: ID, ', 'Query has no field that returns Profile by its id'],
  [/(?<=input JobFilter \{[^}]*?)ids: \[ID!\]/, 'jobIds: [ID!]', 'JobFilter has no field ids'],
  [/(?<=input JobFilter \{[^}]*?)statuses: /, 'states: ', 'JobFilter has no field statuses'],
  [/(?<=input AccountFilter \{[^}]*?)not: /, 'none: ', 'AccountFilter has no field not'],
  [/scalar Date @specifiedBy\(.*?\)/, 'scalar Date', 'Date has no @specifiedBy'],
  [/"""[^"]*"""\nschema \{/, 'schema {', 'The schema has no description'],
  [/ @oneOf/, '', 'says in words that one field is given: use @oneOf'],
  [/user: User! @requiresScopes\(.*?\)/, 'user: User!', 'Account.user names another scope in its description'],
  [
    /@requiresScopes\(scopes: \[\["jobs:read"\]\]\)/,
    '@requiresScopes(scopes: [["jobs:write"]])',
    'names another scope',
  ],
])('a schema is judged by what it says: %s ⇒ %s', (pattern, replacement, problem) => {
  const changed = text.replace(pattern, replacement)
  expect(changed).not.toBe(text)
  expect(problemsOf(parse(changed))).toEqual(problem === undefined ? [] : [expect.stringContaining(problem)])
})

it('eslint runs the same rules', () => {
  expect(readFileSync('tools/graphql/eslint.config.js', 'utf8')).toContain("'schema/sweep': 'error'")
})
