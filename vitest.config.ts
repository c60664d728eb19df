import { availableParallelism } from 'node:os'
import path from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { leftOut } from './test/support/left-out.ts'

/** The files that take longest start first, so that no worker is still busy with one when the others have finished. */
const longest = [
  'cli/serve',
  'cli/deltas',
  'cli/processes',
  'docs/add-a-resource',
  'docs/creator-dashboard.browser',
  'faults/workers',
  'db/partitions',
  'faults/soak',
  'clients/graphiql.browser',
  'clients/frontends.browser',
  'cli/tenants-and-keys',
  'cli/transfer-commands',
  'cli/seed',
  'telemetry/log-faults',
  'telemetry/tracing',
].map((name) => path.join(import.meta.dirname, 'test', `${name}.`))

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => longest.some((name) => moduleId.startsWith(name))
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

/** Tests of faults that say how soon something is noticed and over. They wait more than they work. */
const timed = [
  ...['black-hole', 'listener', 'outages', 'replicas', 'shutdown', 'timeouts'].map((name) => `test/faults/${name}.*`),
  'test/limits/redis.*',
]

/** Tests that load the machine, and say how soon others are answered meanwhile. */
const loads = ['test/faults/neighbours.*', 'test/faults/overload.*']

const run =
  process.env['TEST_PARTITIONS'] || process.env['TEST_CITUS_NODES']
    ? 'partitioned'
    : process.env['TEST_DATABASE_URL']
      ? 'postgres'
      : 'embedded'

/** Whether all tests of the run are asked for: `vitest run` without arguments. */
const isWholeRun = process.argv.length === 3

/** The tests that `npm test` leaves out: they take minutes, or need programs that a machine may lack. */
const slow = isWholeRun && !process.env['TEST_ALL'] ? ['test/**/*.slow.*', 'test/**/*.once.*', ...loads] : []

/** Tests of limits wait for a second, as clients do: one worker more than there are cores keeps the cores busy. The slow ones start processes. */
const maxWorkers = availableParallelism() + (slow.length > 0 ? 1 : 0)

/** Tests that change what modules share have a process of their own. */
const apart = ['test/**/*.apart.test.ts']

/** Folders of tests about what is between a client and the schema, and about the log. Partitions make no difference. */
const transports = ['http', 'mcp', 'websocket', 'telemetry'].map((folder) => `test/${folder}/**`)

/** The tests that each run leaves out, by the suffixes of their names. CONTRIBUTING.md says what the suffixes mean. */
const others = {
  embedded: ['postgres', 'once'],
  postgres: ['embedded', 'once'],
  partitioned: ['embedded', 'postgres', 'unpartitioned'],
}[run]
  .map((suffix) => `test/**/*.${suffix}.test.ts`)
  .concat(slow, run === 'partitioned' ? transports : [])

// A hundred processes load the same files: each file is compiled once.
process.env['NODE_COMPILE_CACHE'] ??= path.join(import.meta.dirname, 'node_modules/.cache/compiled')

export default defineConfig({
  test: {
    reporters: slow.length > 0 ? ['default', leftOut] : ['default'],
    globalSetup: ['test/support/template.ts'],
    setupFiles: ['test/support/leftovers.ts'],
    // A database of its own for each file, so files run side by side; the tests of a file run in order.
    pool: 'forks',
    // A worker loads each module once for all its files. Only the schema is built when modules of
    // src are loaded, and it does not change, so a file sees nothing of another.
    isolate: false,
    // The files run as Node runs them, as the gateway itself does; Vite would load a second copy of graphql.
    experimental: { viteModuleRunner: false },
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
          include: ['test/**/*.test.ts'],
          exclude: [...timed, ...loads, ...apart, ...others],
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
          maxWorkers,
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
