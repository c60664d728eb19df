import { execFile, spawn } from 'node:child_process'
import path from 'node:path'
import { text } from 'node:stream/consumers'
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
  return packagesIn(stderr)
}

/** Of modules in a package of this repository, the name is that of the package: `packages/citus`. */
function packagesIn(urls: string): Set<string> {
  const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)|\/(packages\/[^/]+|src\/.*)/
  const found = urls.split('\n').map((url) => name.exec(url))
  return new Set(found.flatMap((match) => match?.[1] ?? match?.[2] ?? []))
}

/** Returns the same for a gateway that has just started. */
async function loadedByStart(env: Record<string, string>): Promise<Set<string>> {
  const gateway = spawn(process.execPath, ['--import', reporter, entry, 'serve'], {
    env: { PATH: process.env['PATH'], PORT: '0', ...env },
  })
  const urls = text(gateway.stderr)
  for await (const chunk of gateway.stdout) if (String(chunk).includes('Server listening at')) gateway.kill('SIGKILL')
  return packagesIn(await urls)
}

describe('a command loads what it uses', () => {
  let database: CommandDatabase
  beforeAll(async () => {
    database = await createCommandDatabase()
  })
  afterAll(() => database.remove())

  it('--help loads no package but the one that reads arguments', async () => {
    const loaded = [...(await loadedBy(['--help']))]
    expect(loaded.filter((name) => !name.startsWith('src/'))).toEqual(['packages/base', 'commander'])
  })

  it('keys list loads no GraphQL, HTTP server or tracing', async () => {
    const loaded = await loadedBy(['keys', 'list'], database.env)
    expect(loaded).toContain('@prisma/client')
    const unused = ['@pothos/core', 'graphql', 'graphql-yoga', 'fastify', 'pino', '@opentelemetry/api', 'graphql-ws']
    expect(unused.filter((name) => loaded.has(name))).toEqual([])
  })

  it('a gateway loads neither Yoga, Redis, traces nor Citus before it needs them, nor undici if it works no jobs', async () => {
    const loaded = await loadedByStart(database.env)
    expect(loaded).toContain('fastify')
    const unused = ['graphql-yoga', '@redis/client', '@opentelemetry/sdk-trace', 'packages/citus']
    // On the embedded database it works jobs too.
    if (database.env['DATABASE_URL']) unused.push('undici')
    expect(unused.filter((name) => loaded.has(name))).toEqual([])
  })
})
