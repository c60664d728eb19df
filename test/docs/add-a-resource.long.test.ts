import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { linkPackages } from '../support/copy.ts'
import { type CodeBlock, projectRoot, readBlocks } from '../support/docs.ts'

let copy: string
beforeAll(() => {
  copy = mkdtempSync(path.join(tmpdir(), 'fusion-resource-'))
  const ignored = new Set(['.git', 'data'].map((name) => path.join(projectRoot, name)))
  const isIgnored = (file: string) => ignored.has(file) || path.basename(file) === 'node_modules'
  cpSync(projectRoot, copy, { recursive: true, filter: (file) => !isIgnored(file) })
  linkPackages(copy)
})
afterAll(() => rmSync(copy, { recursive: true }))

/** Does what a block of CONTRIBUTING.md and the sentence before it say. */
function follow({ intro, language, code }: CodeBlock): void {
  if (language === 'sh') {
    run(code)
    return
  }
  const [file = '', anchor = ''] = [...intro.matchAll(/`([^`]+)`/g)].map(([, word]) => word)
  const target = path.join(copy, file)
  if (intro.startsWith('Create ')) {
    mkdirSync(path.dirname(target), { recursive: true })
    writeFileSync(target, code)
  } else if (intro.startsWith('Add to the end of ')) {
    appendFileSync(target, `\n${code}`)
  } else {
    const content = readFileSync(target, 'utf8')
    expect(content).toContain(`${anchor}\n`)
    writeFileSync(target, content.replace(`${anchor}\n`, `${anchor}\n${code}`))
  }
}

/** Runs commands in the copy. Throws with their output if one fails. */
function run(script: string): void {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST_DATABASE_URL)/.test(name))
  const env = { ...Object.fromEntries(inherited), NO_COLOR: '1' }
  try {
    execFileSync('sh', ['-ec', script], { cwd: copy, env, encoding: 'utf8', stdio: 'pipe' })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${script}\n${stdout}\n${stderr}`)
  }
}

describe('CONTRIBUTING.md', () => {
  it('adds a resource that passes npm run check', { timeout: 900_000 }, () => {
    for (const block of readBlocks('CONTRIBUTING.md', 'Add a resource')) follow(block)
    expect(readFileSync(path.join(copy, 'schema.graphql'), 'utf8')).toContain('createNote(')
  })
})
