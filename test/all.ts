// Runs all tests, one run after the other, and says how long each took: `npm run test:all`. On PostgreSQL too if
// TEST_DATABASE_URL is set. Ends with 1 if a run has failed, and prints its failures again.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { hasServer } from './support/postgresql.ts'

interface Run {
  readonly name: string
  readonly command: readonly string[]
  readonly needsServer: boolean
  /** Whether it uses the embedded database although there is a server. */
  readonly isEmbedded?: boolean
}

const runs: readonly Run[] = [
  { name: 'the embedded database', command: ['test'], needsServer: false, isEmbedded: true },
  { name: 'PostgreSQL', command: ['test'], needsServer: true },
  { name: 'partitioned tables', command: ['run', 'test:partitioned'], needsServer: true },
  {
    name: 'random operations on the embedded database',
    command: ['run', 'test:differential', '--', '--operations', '2000'],
    needsServer: false,
    isEmbedded: true,
  },
  {
    name: 'random operations on PostgreSQL',
    command: ['run', 'test:differential', '--', '--operations', '2000'],
    needsServer: true,
  },
  { name: 'a campaign of faults', command: ['run', 'test:campaign', '--', '--seconds', '60'], needsServer: true },
]

/** The most lines that are printed again of a run that has failed. */
const maxLines = 300

/**
 * Runs npm with `command`, and prints what it prints. If it fails, returns its last lines, or those from its failed
 * tests on.
 */
async function runNpm(command: readonly string[], env: NodeJS.ProcessEnv): Promise<string[] | undefined> {
  const child = spawn('npm', command, { stdio: ['inherit', 'pipe', 'pipe'], env })
  let lines: string[] = []
  let isOfFailures = false
  const print = async (from: Readable, to: NodeJS.WriteStream) => {
    for await (const line of createInterface(from)) {
      to.write(`${line}\n`)
      if (!isOfFailures && /Failed (Tests|Suites) \d/.test(line)) {
        isOfFailures = true
        lines = []
      }
      lines.push(line)
      if (lines.length > maxLines) lines.splice(isOfFailures ? maxLines : 0, 1)
    }
  }
  await Promise.all([print(child.stdout, process.stdout), print(child.stderr, process.stderr), once(child, 'exit')])
  return child.exitCode === 0 ? undefined : lines
}

const results: string[] = []
const failures: string[] = []
for (const { name, command, needsServer, isEmbedded } of runs) {
  if (needsServer && !hasServer) {
    results.push(`${name}: left out. Set TEST_DATABASE_URL to the URL of a user who may create databases and roles`)
    continue
  }
  process.stdout.write(`\n--- ${name}\n`)
  const { TEST_DATABASE_URL: url, ...others } = process.env
  const env = { ...others, TEST_ALL: '1', ...(url && !isEmbedded && { TEST_DATABASE_URL: url }) }
  const begun = performance.now()
  const failure = await runNpm(command, env)
  if (failure) failures.push(`\n--- failures of ${name}\n`, ...failure)
  results.push(`${name}: ${failure ? 'FAILED' : 'passed'}, ${((performance.now() - begun) / 1_000).toFixed(0)} s`)
}
process.stdout.write(`${failures.join('\n')}\n${results.join('\n')}\n`)
process.exitCode = failures.length === 0 ? 0 : 1
