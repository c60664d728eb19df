import { buildSchema, isScalarType, isSpecifiedScalarType } from 'graphql'
import { expect, it } from 'vitest'
import { readPage } from '../support/docs.ts'

const scalars = Object.values(buildSchema(readPage('schema.graphql')).getTypeMap())
  .filter((type) => isScalarType(type) && !isSpecifiedScalarType(type))
  .map(({ name }) => name)

/** The scalars in the first column of the table below a heading. */
function tableOf(page: string, heading: string): string[] {
  const part = readPage(page).split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...part.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell = '']) => cell.replaceAll('`', '').split(', '))
}

it.each([
  ['docs/frontends.md', 'Types'],
  ['docs/recipes/codegen.md', 'Kotlin, Swift and C#'],
])('the table of scalars in %s has all that the schema has', (page, heading) => {
  expect(tableOf(page, heading).toSorted()).toEqual(scalars.toSorted())
})
