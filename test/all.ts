// Runs all tests, one run after the other, and says how long each took: `npm run test:all`. On PostgreSQL too if TEST_DATABASE_URL is set.
// Ends with 1 if a run has failed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
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

const results: string[] = []
let failed = 0
for (const { name, command, needsServer, isEmbedded } of runs) {
  if (needsServer && !hasServer) {
    results.push(`${name}: left out. Set TEST_DATABASE_URL to the URL of a user who may create databases and roles`)
    continue
  }
  process.stdout.write(`\n--- ${name}\n`)
  const { TEST_DATABASE_URL: url, ...others } = process.env
  const env = { ...others, TEST_ALL: '1', ...(url && !isEmbedded && { TEST_DATABASE_URL: url }) }
  const begun = performance.now()
  const [code] = await once(spawn('npm', command, { stdio: 'inherit', env }), 'exit')
  if (code !== 0) failed += 1
  results.push(`${name}: ${code === 0 ? 'passed' : 'FAILED'}, ${((performance.now() - begun) / 1_000).toFixed(0)} s`)
}
process.stdout.write(`\n${results.join('\n')}\n`)
process.exitCode = failed === 0 ? 0 : 1
