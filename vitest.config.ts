import { globSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import path from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { leftOut } from './test/support/left-out.ts'
import { measureRun, recordedSeconds } from './test/support/measure.ts'

/** A file that no run has recorded may take as long as any. */
const mostSeconds = 3_600

/**
 * The files that took longest start first, so that no worker is still busy with one when the others have finished.
 * Those that need a process of their own come before all others: a worker whose next file is one of them ends, and the
 * worker after it loads every module again.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = recordedSeconds()
    const secondsOf = ({ moduleId }: TestSpecification) =>
      seconds.get(path.relative(import.meta.dirname, moduleId)) ?? mostSeconds
    const isApart = ({ project }: TestSpecification) => Number(project.config.isolate)
    return (await super.sort(files)).toSorted(
      (one, other) => isApart(other) - isApart(one) || secondsOf(other) - secondsOf(one),
    )
  }
}

/** Tests of faults that say how soon something is noticed and over. They wait more than they work. */
const timed = ['black-hole', 'listener', 'outages', 'replicas', 'shutdown', 'timeouts']
  .map((name) => `test/faults/${name}.*`)
  .concat('test/limits/redis.*')

/** Tests that load the machine, and say how soon others are answered meanwhile. */
const loads = ['test/faults/neighbours.*', 'test/faults/overload.*']

/** The tests of the application, and those of packages with another schema. */
const everywhere = '{test,packages/*/test}/**'

/** Tests that change what modules share have a process of their own. */
const apart = [`${everywhere}/*.apart.test.ts`]

const isDistributed = process.env['TEST_CITUS_NODES'] !== undefined
const hasServer = process.env['TEST_DATABASE_URL'] !== undefined

/** Whether all tests of the run are asked for: `vitest run` without arguments. */
const isWholeRun = process.argv.length === 3

/**
 * Which tests run: `npm test` the `fast` ones, and test/all.ts then `all` of a database, or those `rest` of the embedded
 * database that need it. CONTRIBUTING.md says what the suffixes of names mean.
 */
const set = process.env['TEST_SET'] ?? (isWholeRun ? 'fast' : 'all')

const isNpmTest = isWholeRun && set === 'fast'

/** The long files that test/all.ts has chosen. All of them, if it has not started this run. */
const chosen = process.env['TEST_LONG']?.split(' ')

const leftOutOf = {
  fast: [`${everywhere}/*.{slow,long,postgres}.*`, ...loads],
  rest: [`${everywhere}/!(*.{slow,long}.embedded).test.ts`],
  all: hasServer ? [`${everywhere}/*.embedded.test.ts`] : [`${everywhere}/*.postgres.test.ts`],
}[set]
if (!leftOutOf) throw new Error(`TEST_SET is fast, rest or all, not ${set}`)

/** Folders of tests about what is above SQL. Distributed tables make no difference, or the tests create their own. */
const aboveSql = ['clients', 'docs', 'graphql', 'http', 'limits', 'mcp', 'rest', 'telemetry', 'websocket']
  .map((folder) => `test/${folder}/**`)
  .concat(
    'packages/*/test/**',
    'test/db/interrupted-migrations.*',
    'test/db/statements-of-servers.*',
    `${everywhere}/*.postgres.test.ts`,
  )

const others = [
  ...leftOutOf,
  ...(isDistributed ? aboveSql : []),
  ...(chosen ? globSync(`${everywhere}/*.long.*`).filter((file) => !chosen.includes(file)) : []),
]

/** What a worker takes, in bytes: it keeps the modules, the schema and up to three embedded databases. */
const workerMemory = 2.5 * 1024 ** 3
const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)

/**
 * Tests wait for clocks, as clients do, and for processes: two workers more than there are cores keep the cores busy.
 * Those of the embedded database that take long start processes.
 */
const wanted = availableParallelism() + (set === 'rest' ? 0 : 2)
const maxWorkers = Math.max(1, Math.min(wanted, Math.floor(memory / workerMemory)))

// A hundred processes load the same files: each file is compiled once.
process.env['NODE_COMPILE_CACHE'] ??= path.join(import.meta.dirname, 'node_modules/.cache/compiled')

export default defineConfig({
  test: {
    reporters: ['default', measureRun(isNpmTest ? 'npm test' : undefined), ...(isNpmTest ? [leftOut] : [])],
    globalSetup: ['test/support/template.ts'],
    setupFiles: ['test/support/leftovers.ts'],
    // A database of its own for each file, so files run side by side; the tests of a file run in order.
    pool: 'forks',
    // A worker loads each module once for all its files. Only the schema is built when modules of
    // src are loaded, and it does not change, so a file sees nothing of another.
    isolate: false,
    // The files run as Node runs them, as the gateway itself does; Vite would load a second copy of graphql.
    // No test needs the code of a module changed, as vi.mock would.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Some tests start several gateways with a database of their own, which takes half a minute each on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // What happens at last is waited for, as long as a busy machine needs.
    expect: { poll: { timeout: 30_000 } },
    sequence: { sequencer: LongestFirst },
    env: { TZ: 'Asia/Kolkata' },
    // The package of clients is the one that is written here, without a build.
    execArgv: ['--conditions=fusion-source'],
    projects: [
      {
        extends: true,
        test: {
          name: 'behaviour',
          include: [`${everywhere}/*.test.ts`],
          exclude: [...timed, ...loads, ...apart, ...others],
          env: isWholeRun || process.env['TEST_CPU'] ? { TEST_WARM: '1' } : {},
          maxWorkers,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'apart',
          include: apart,
          exclude: others,
          isolate: true,
          maxWorkers,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'timed',
          include: timed,
          exclude: others,
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 2 },
        },
      },
      // One after the other, with the machine to themselves.
      {
        extends: true,
        test: { name: 'loads', include: loads, exclude: others, maxWorkers: 1, sequence: { groupOrder: 3 } },
      },
    ],
  },
})
