import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { limitNames } from '@fusion-gateway/base'
import { expect, it } from 'vitest'
import { environment } from '../../src/config.ts'

const root = path.resolve(import.meta.dirname, '../..')
const page = readFileSync(path.join(root, 'docs/limits.md'), 'utf8')

/** The words in code of a column of the page's tables of limits. */
function wordsOf(column: number): string[] {
  const rows = page.split('\n').filter((line) => /^\| (?!What \| )/.test(line) && line.split(' | ').length === 6)
  expect(rows.length).toBeGreaterThan(20)
  return rows.flatMap((row) =>
    [...(row.split(' | ')[column]?.matchAll(/`([^`]+)`/g) ?? [])].map(([, word]) => String(word)),
  )
}

it('docs/limits.md has exactly the names of limits that the log and the metrics have', () => {
  expect([...new Set(wordsOf(4))].toSorted()).toEqual(limitNames.toSorted())
})

it('docs/limits.md names variables that exist', () => {
  const variables = [...page.matchAll(/`([A-Z_]+)`/g)]
    .map(([, word]) => String(word))
    .filter((word) => word.includes('_'))
  const codes = wordsOf(3)
  const named = variables.filter((word) => !codes.includes(word))
  expect(named).toEqual(expect.arrayContaining(['RATE_LIMIT', 'MAX_IN_FLIGHT', 'REDIS_URL']))
  expect(named.filter((name) => !(name in environment.shape))).toEqual([])
})

it('docs/limits.md names files that exist', () => {
  for (const file of wordsOf(5)) {
    expect(
      existsSync(path.join(root, file.startsWith('src/') ? file : `packages/${file.replace('/', '/src/')}`)),
      file,
    ).toBe(true)
  }
})
