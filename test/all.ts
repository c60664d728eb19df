// Runs the tests, and prints what each step took: wall time, CPU, and the slowest files. Ends with 1 if a step has
// failed, and prints its failures again.
//
//   npm run test:all       npm test, slow tests, a quarter of the long suites, PostgreSQL if TEST_DATABASE_URL is set
//   npm run test:release   the same with all long suites
//   .ci/run                test:all with `--checks`: it also checks the sources, and installs packages of examples
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { allSuites, examplesOf, type LongSuite, quarterOfCommit, suitesOf } from './support/long-suites.ts'
import { type MeasuredStep, measuredFolder } from './support/measure.ts'
import { hasServer } from './support/postgresql.ts'

interface Step {
  readonly name: string
  readonly command: readonly string[]
  readonly needsServer?: boolean
  /** Whether it uses the embedded database although there is a server. */
  readonly isEmbedded?: boolean
  readonly env?: Readonly<Record<string, string>>
  /** The step beside it that must have ended. */
  readonly after?: string
}

const { values: options } = parseArgs({ options: { release: { type: 'boolean' }, checks: { type: 'boolean' } } })

const quarter = options.release ? undefined : quarterOfCommit()
const long = quarter === undefined ? allSuites() : suitesOf(quarter)
const isFile = ({ suite }: LongSuite) => suite === undefined
const files = long.filter(isFile).map(({ name }) => name)

const vitest = (...args: string[]) => ['npx', 'vitest', 'run', ...args]
/** Everything, and as often as it is worth: `npm test` tries random input less often. */
const all = { TEST_ALL: '1', TEST_SET: 'all', TEST_LONG: files.join(' ') }
const behaviour = ['--project', 'behaviour', '--project', 'apart']

/** The packages of the examples that the chosen files need. */
const installation = 'the packages of examples'
const install = examplesOf(files).map((example) => `npm ci --prefix examples/${example} --no-fund --no-audit`)

/** One after the other. */
const main: readonly Step[] = [
  { name: 'npm test', command: ['npm', 'test'], isEmbedded: true },
  {
    name: 'the other tests of the embedded database',
    command: vitest(),
    isEmbedded: true,
    after: installation,
    env: { ...all, TEST_SET: hasServer ? 'rest' : 'all' },
  },
  // Once without the short cut of JSON requests.
  {
    name: 'GraphQL and HTTP, all by Yoga',
    command: vitest('test/graphql', 'test/http', 'test/limits'),
    isEmbedded: true,
    env: { TEST_SHORT_CUT: 'off' },
  },
  { name: 'PostgreSQL', command: ['npm', 'run', 'suite', '--', 'postgres', ...behaviour], needsServer: true, env: all },
]

const suites = long.filter((suite) => !isFile(suite))
const stepOf = ({ suite = [], ...step }: LongSuite): Step => ({
  ...step,
  command: ['npm', 'run', 'suite', '--', ...suite],
  env: all,
})

/** Beside the others, one after the other: they wait more than they work, or use one core. */
const beside: readonly Step[] = [
  ...(options.checks
    ? [
        { name: installation, command: ['sh', '-c', ['true', ...install].join(' && ')] },
        { name: 'npm run check', command: ['npm', 'run', 'check'] },
        { name: 'the check of the schema', command: ['npm', 'run', 'check', '--', 'graphql'] },
        { name: 'the check of OpenAPI', command: ['npm', 'run', 'check', '--', 'openapi'] },
      ]
    : []),
  { name: 'faults that take their time', command: vitest('--project', 'timed'), needsServer: true, env: all },
  ...suites.filter(({ isAlone }) => !isAlone).map(stepOf),
]

/** At the end, with the machine to themselves. */
const alone: readonly Step[] = [
  ...suites.filter(({ isAlone }) => isAlone).map(stepOf),
  { name: 'load', command: vitest('--project', 'loads'), needsServer: true, env: all },
]

/** The most lines that are printed again of a step that has failed. */
const maxLines = 300

const measured: MeasuredStep[] = []
const ended = new Map(beside.map(({ name }) => [name, Promise.withResolvers<void>()] as const))
const failures: string[] = []
const leftOut: string[] = []

/** Runs steps, one after the other. */
async function runSteps(steps: readonly Step[], prefix = ''): Promise<void> {
  for (const { name, command, needsServer, isEmbedded, env = {}, after } of steps) {
    await ended.get(after ?? '')?.promise
    if (needsServer && !hasServer) {
      leftOut.push(name)
      continue
    }
    process.stdout.write(`\n${prefix}--- ${name}\n`)
    const { TEST_DATABASE_URL: url, ...others } = process.env
    const ownEnv = { ...others, ...(url && !isEmbedded && { TEST_DATABASE_URL: url }), ...env }
    const begun = performance.now()
    const { failure, cpuSeconds } = await run(command, ownEnv, prefix)
    const wallSeconds = (performance.now() - begun) / 1_000
    if (failure) failures.push(`\n--- failures of ${name}\n`, ...failure)
    measured.push({ name, wallSeconds, cpuSeconds, hasFailed: failure !== undefined })
    ended.get(name)?.resolve()
  }
}

/** Runs a command, and reports the CPU of all its processes: the second line of `times` is that of its children. */
const timesOf = 'command "$@"; code=$?; times >&3; exit $code'

/**
 * Runs a command, and prints what it prints, each line after a prefix. If it fails, returns its last lines, or those
 * from its failed tests on.
 */
async function run(command: readonly string[], env: NodeJS.ProcessEnv, prefix: string) {
  const child = spawn('sh', ['-c', timesOf, 'sh', ...command], { stdio: ['ignore', 'pipe', 'pipe', 'pipe'], env })
  let lines: string[] = []
  let isOfFailures = false
  const print = async (from: Readable, to: NodeJS.WriteStream) => {
    for await (const line of createInterface(from)) {
      to.write(`${prefix}${line}\n`)
      if (!isOfFailures && /Failed (Tests|Suites) \d/.test(line)) {
        isOfFailures = true
        lines = []
      }
      lines.push(line)
      if (lines.length > maxLines) lines.splice(isOfFailures ? maxLines : 0, 1)
    }
  }
  const [times] = await Promise.all([
    text(child.stdio[3] as Readable),
    print(child.stdout as Readable, process.stdout),
    print(child.stderr as Readable, process.stderr),
    once(child, 'exit'),
  ])
  const seconds = [...(times.split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)]
  const cpuSeconds = seconds.reduce((sum, [, minutes, rest]) => sum + 60 * Number(minutes) + Number(rest), 0)
  return { failure: child.exitCode === 0 ? undefined : lines, cpuSeconds }
}

/** What came before, such as the installation: .ci/run writes a line for each step. */
function readOwnSteps(): MeasuredStep[] {
  const file = process.env['TEST_STEPS']
  const lines = file ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean) : []
  return lines.map((line) => {
    const [name = '', wall, user, system] = line.split(' ')
    return { name, wallSeconds: Number(wall), cpuSeconds: Number(user) + Number(system), hasFailed: false }
  })
}

const folder = path.join(measuredFolder, 'all')
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
process.env['TEST_MEASURED'] = folder
const which =
  quarter === undefined ? 'All long suites' : `Quarter ${quarter + 1} of the long suites, by the hash of the commit`
process.stdout.write(`${which}:\n`)
for (const { name } of long) process.stdout.write(`  ${name}\n`)

await Promise.all([runSteps(main), runSteps(beside, '| ')])
await runSteps(alone)

measured.unshift(...readOwnSteps())
writeFileSync(path.join(folder, 'steps.json'), JSON.stringify(measured))
process.stdout.write(`${failures.join('\n')}\n`)
for (const name of leftOut)
  process.stdout.write(
    `Left out: ${name}. Set TEST_DATABASE_URL to the URL of a user who may create databases and roles.\n`,
  )
await run([process.execPath, path.join(import.meta.dirname, '../tools/suite.ts')], process.env, '')
// At the very end, where whoever sees only the last lines of a long output finds it.
// Of each failure its test, its error, and where that is.
for (const [index, line] of failures.entries()) {
  const isError = / FAIL /.test(failures[index - 1] ?? '')
  if (/^\n--- | FAIL |^\S*\s*❯ test\//.test(line) || isError) process.stdout.write(`${line.trim()}\n`)
}
process.exitCode = failures.length === 0 ? 0 : 1
