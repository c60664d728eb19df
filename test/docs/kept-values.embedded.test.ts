import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '../..')

/**
 * The rows of the table in docs/architecture.md: the files that keep something, and the tests that vary what it depends
 * on.
 */
function readTable() {
  const page = readFileSync(path.join(root, 'docs/architecture.md'), 'utf8')
  const section = /## What is kept\n(.*?)\n## /s.exec(page)?.[1] ?? ''
  return [...section.matchAll(/^\| (`.*) \| .* \| .* \| .* \| (.*) \|$/gm)].map(([, files = '', tests = '']) => ({
    files: [...files.matchAll(/`([\w/.-]+\.ts)`/g)].map(([, file]) => String(file)),
    tests: [...tests.matchAll(/`([\w/.-]+)`/g)].map(([, test]) => String(test)),
  }))
}

/** As the table names it: `packages/sql/src/sql.ts` ⇒ `/sql/sql.ts`. */
const placeOf = (file: string) => file.replace(/^packages(\/[\w-]+)\/src/, '$1')

it('architecture.md lists every file that keeps values between uses', () => {
  const listed = readTable().flatMap(({ files }) => files)
  const keeping = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], {
    cwd: root,
    exclude: ['packages/database/src/generated/**'],
  }).filter((file) => /new (?:LRUCache|WeakMap|WeakSet)\b/.test(readFileSync(path.join(root, file), 'utf8')))
  expect(keeping.length).toBeGreaterThan(10)
  expect(keeping.filter((file) => !listed.some((name) => placeOf(file).endsWith(`/${name}`)))).toEqual([])
})

it('each file and each test of the table exists', () => {
  const rows = readTable()
  expect(rows.length).toBeGreaterThan(25)
  for (const { files, tests } of rows) {
    expect(tests).not.toEqual([])
    for (const file of files)
      expect(globSync([`src/**/${file}`, `packages/${file.replace('/', '/src/')}`], { cwd: root }), file).not.toEqual(
        [],
      )
    for (const test of tests) {
      const places = [`test/${test}*.test.ts`, `packages/${test.replace('/', '/test/')}*.test.ts`]
      expect(globSync(places, { cwd: root }), test).not.toEqual([])
    }
  }
})
