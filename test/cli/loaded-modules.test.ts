import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'

const entry = path.resolve(import.meta.dirname, '../../bin/fusion.js')

/** Prints the URL of each module that the process loads as a line on stderr. */
const reporter = `data:text/javascript,${encodeURIComponent(`
  import { writeSync } from 'node:fs'
  import { registerHooks } from 'node:module'
  registerHooks({ load(url, context, next) { writeSync(2, url + '\\n'); return next(url, context) } })`)}`

/** Returns the packages that a command loads, and the files of src. */
async function loadedBy(args: readonly string[], env: Record<string, string> = {}): Promise<Set<string>> {
  const { stderr } = await promisify(execFile)(process.execPath, ['--import', reporter, entry, ...args], {
    env: { PATH: process.env['PATH'], ...env },
    maxBuffer: 2 ** 24,
  })
  const names = stderr.split('\n').map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)|\/(src\/.*)$/.exec(url))
  return new Set(names.flatMap((match) => match?.[1] ?? match?.[2] ?? []))
}

describe('a command loads what it uses', () => {
  let database: CommandDatabase
  beforeAll(async () => {
    database = await createCommandDatabase()
  })
  afterAll(() => database.remove())

  it('--help loads no package but the one that reads arguments', async () => {
    const loaded = [...(await loadedBy(['--help']))]
    expect(loaded.filter((name) => !name.startsWith('src/'))).toEqual(['commander'])
  })

  it('keys list loads no GraphQL, HTTP server or tracing', async () => {
    const loaded = await loadedBy(['keys', 'list'], database.env)
    expect(loaded).toContain('@prisma/client')
    const unused = ['@pothos/core', 'graphql', 'graphql-yoga', 'fastify', 'pino', '@opentelemetry/api', 'graphql-ws']
    expect(unused.filter((name) => loaded.has(name))).toEqual([])
  })
})
