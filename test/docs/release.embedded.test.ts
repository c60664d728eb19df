import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { buildVersion } from '@fusion-gateway/base'
import { afterAll, expect, it } from 'vitest'
import { findMissing } from '../../tools/release/missing.ts'
import { setVersion } from '../../tools/release/places.ts'
import { createEmptyDir } from '../support/data-dir.ts'
import { projectRoot } from '../support/docs.ts'

const commit = 'ab12'.repeat(10)

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

function createFolder(): string {
  const folder = createEmptyDir()
  folders.push(folder)
  return folder
}

/** Copies what the check reads, as version 0.2.0 before its release. */
function copyProject() {
  const root = projectOf({
    'CHANGELOG.md': '## [0.2.0] - Unreleased\n\n## [0.1.0] - 2026-01-01\n',
    'test/fixtures/release-0.1.0.graphql': '',
    'test/db/previous-release.long.postgres.test.ts': '/** The commit of version 0.1.0. */',
  })
  const files = [
    'package.json',
    'package-lock.json',
    'README.md',
    'packages/client/package.json',
    'packages/client/src/version.ts',
    'docs/frontends.md',
    'docs/recipes',
  ]
  for (const file of files) cpSync(path.join(projectRoot, file), path.join(root, file), { recursive: true })
  const change = (file: string, from: string | RegExp, to: string) => {
    const text = readFileSync(path.join(root, file), 'utf8')
    expect(text).toMatch(from)
    writeFileSync(path.join(root, file), text.replace(from, to))
  }
  const date = (text: string) => change('CHANGELOG.md', /^## \[.*$/m, `## [0.2.0] - ${text}`)
  setVersion(root, '0.2.0-dev')
  change('README.md', /Version [\d.]+ is released/, 'Version 0.1.0 is released')
  return { root, change, date }
}

it('each commit names one version everywhere, and its changes in CHANGELOG.md', () => {
  expect(findMissing(projectRoot)).toEqual([])
})

it('the check of a release says each step of a release that is missing', () => {
  const { root, change, date } = copyProject()
  expect(findMissing(root)).toEqual([])
  const missing = [
    'The version is 0.2.0-dev: npm run check -- release --set 0.2.0',
    'CHANGELOG.md has no date for 0.2.0.',
    'README.md does not say that 0.2.0 is released.',
  ]
  expect(findMissing(root, true)).toEqual(missing)
  setVersion(root, '0.2.0')
  expect(findMissing(root, true)).toEqual(missing.slice(1))
  date('2027-01-31')
  expect(findMissing(root, true)).toEqual(missing.slice(2))
  change('README.md', 'Version 0.1.0 is released', 'Version 0.2.0 is released')
  expect([findMissing(root, true), findMissing(root)]).toEqual([[], []])
})

it('the check of a release says what a new version lacks after a release', () => {
  const { root, change, date } = copyProject()
  date('2027-01-31')
  change('README.md', 'Version 0.1.0 is released', 'Version 0.2.0 is released')
  setVersion(root, '0.3.0-dev')
  expect(findMissing(root)[0]).toBe('CHANGELOG.md does not begin with "## [0.3.0] - ", the version of package.json.')
  change('CHANGELOG.md', '## [0.2.0]', '## [0.3.0] - Unreleased\n\n## [0.2.0]')
  expect(findMissing(root)).toEqual([
    'test/fixtures/release-0.2.0.graphql is missing, the schema with which a test compares this one.',
    'test/db/previous-release.long.postgres.test.ts does not name the commit of version 0.2.0.',
  ])
})

it.each([
  ['package-lock.json', '"name": "@fusion-gateway/client",\n      "version": "0.2.0-dev"'],
  ['packages/client/package.json', '"version": "0.2.0-dev"'],
  ['packages/client/src/version.ts', "'0.2.0-dev'"],
  ['docs/recipes/urql.md', 'client-0.2.0-dev.tgz'],
])('the check of a release says that %s names another version', (file, text) => {
  const { root, change } = copyProject()
  change(file, text, text.replace('0.2.0', '0.1.9'))
  expect(findMissing(root)).toEqual([`${file} names 0.1.9-dev, not 0.2.0-dev.`])
})

it('a version that is none is refused', () => {
  const { root } = copyProject()
  expect(() => setVersion(root, 'v0.2')).toThrow('v0.2 is no version such as 0.2.0 or 0.3.0-dev')
})

/** Writes the files of a project into an empty folder. */
function projectOf(files: Record<string, string>): string {
  const root = createFolder()
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
    writeFileSync(path.join(root, file), text)
  }
  return root
}

it.each<[string, Record<string, string>]>([
  ['a branch', { '.git/HEAD': 'ref: refs/heads/main\n', '.git/refs/heads/main': `${commit}\n` }],
  ['a commit', { '.git/HEAD': `${commit}\n` }],
  [
    'a branch that git has packed',
    {
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/packed-refs': `# pack-refs with: peeled\n${'0'.repeat(40)} refs/heads/a/main\n${commit} refs/heads/main\n`,
    },
  ],
  [
    'a worktree',
    {
      '.git': 'gitdir: repository/worktrees/one\n',
      'repository/worktrees/one/HEAD': 'ref: refs/heads/one\n',
      'repository/worktrees/one/commondir': '../..\n',
      'repository/refs/heads/one': `${commit}\n`,
    },
  ],
  ['an image', { '.commit': `${commit}\n` }],
])('a build between releases has the commit of %s in its version', (_, files) => {
  const root = projectOf({ 'package.json': '{"version":"0.2.0-dev"}', ...files })
  expect(buildVersion(root)).toBe('0.2.0-dev+ab12ab12ab12')
})

it.each<[string, string, Record<string, string>]>([
  ['a release', '0.2.0', { '.commit': commit }],
  ['an image without its commit', '0.2.0-dev', { '.commit': 'unknown\n' }],
  ['a copy without a repository', '0.2.0-dev', {}],
  ['a repository without a commit', '0.2.0-dev', { '.git/HEAD': 'ref: refs/heads/main\n' }],
])('the version of %s has no commit', (_, version, files) => {
  expect(buildVersion(projectOf({ 'package.json': JSON.stringify({ version }), ...files }))).toBe(version)
})
