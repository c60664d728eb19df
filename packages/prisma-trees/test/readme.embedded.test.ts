import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')

/** The blocks of code, and the file that the text before each names: ``(`test/blog.ts`):``. */
const blocks = [...read('README.md').matchAll(/\(`([^`]+)`\):\n\n```(\w+)\n(.*?)```/gs)]

it('README.md shows code that the tests run', () => {
  expect(blocks).toHaveLength(read('README.md').split('```').length >> 1)
  for (const [, file = '', language, code = ''] of blocks) {
    if (language === 'ts') expect(code).toBe(read(file))
    else expect(read(file)).toContain(code)
  }
})

it('search-fold.sql has the function of the migrations', () => {
  const migration = '../../prisma/migrations/20261126000000_folded_searches/migration.sql'
  expect(read('search-fold.sql')).toBe(read(migration))
})
