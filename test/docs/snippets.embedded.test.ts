import { globSync } from 'node:fs'
import { expect, it } from 'vitest'
import { projectRoot, readBlocks, readPage } from '../support/docs.ts'

const pages = ['docs/frontends.md', ...globSync('docs/recipes/*.md', { cwd: projectRoot })]

/** The code that a page shows, and the file that it names before each. Commands have tests of their own. */
const snippetsOf = (page: string) =>
  readBlocks(page)
    .filter(({ language }) => !['sh', 'graphql'].includes(language))
    .map(({ intro, code }) => ({ file: /\(`(examples\/[^`]+)`\):$/.exec(intro)?.[1] ?? '', intro, code }))

it.each(pages)('%s shows code of the examples, which tests run', (page) => {
  const snippets = snippetsOf(page)
  expect(snippets.length).toBeGreaterThan(0)
  for (const { file, intro, code } of snippets) {
    expect(file, intro).not.toBe('')
    // A file is shown with its imports and whole, or in part.
    if (code.startsWith('import ')) expect(code, intro).toBe(readPage(file))
    else expect(readPage(file), intro).toContain(code)
  }
})

it('each file of examples/frontends is shown', () => {
  const shown = pages.flatMap((page) => snippetsOf(page).map(({ file }) => file))
  const files = globSync('examples/frontends/**/*', { cwd: projectRoot, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath.slice(projectRoot.length + 1)}/${entry.name}`)
  expect(files.length).toBeGreaterThan(10)
  expect(files.filter((file) => !shown.includes(file))).toEqual([])
})
