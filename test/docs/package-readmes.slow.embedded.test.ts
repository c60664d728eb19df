import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { projectRoot, readBlocks } from '../support/docs.ts'

// Those of prisma-trees and pothos-trees are parts of files that their own tests run.
const pages = globSync('packages/!(prisma-trees|pothos-trees|client)/README.md', { cwd: projectRoot }).sort()
const snippets = pages.flatMap((page) =>
  readBlocks(page).flatMap(({ language, code }) => (language === 'ts' ? [[page, code] as const] : [])),
)

it.each(snippets)('%s has an example that prints what it says', async (_, code) => {
  const printed = [...code.matchAll(/^console\.log\(.*\) \/\/ (.*)$/gm)].map(([, text]) => text)
  expect(printed).not.toEqual([])
  const args = ['--input-type=module-typescript', '--disable-warning=ExperimentalWarning', '--eval', code]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: projectRoot })
  expect(stdout.trim().split('\n')).toEqual(printed)
})

it('seven packages have one', () => expect(snippets).toHaveLength(7))
