import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import {
  BaseSequencer,
  createVitest,
  type TestCase,
  type TestModule,
  type TestSpecification,
  type Vitest,
} from 'vitest/node'
import { linkPackages } from './support/copy.ts'
import { recordedSeconds } from './support/measure.ts'

const help = `npm run suite -- mutants [OPTIONS] [FILE…]

Changes one line of the source at a time that tests must protect, such as the condition on the tenant of a statement, and
runs the tests: one of them must fail. Prints the test that failed with each mutant, or that it survived, and exits with 1
if one did. It works in a copy; the project itself does not change.

  FILE         a file of the source (default: all)
  --shard I/N  only the part I of N of the mutants, such as 2/8
  --help       print this help
  TEST_DATABASE_URL names a PostgreSQL server, which transactions need that run while others read. Tests of the embedded
  database alone do not run then.
`

/** A file with one change. */
interface Mutant {
  readonly group: Group
  readonly file: string
  readonly line: number
  /** The text that was replaced. */
  readonly replaced: string
  /** The whole file with the change. */
  readonly text: string
}

/** Text of the source, and what replaces it. */
type Rule = readonly [pattern: RegExp, replacement: (found: string) => string]

/** What tests protect in some files, and the tests that must fail without it. */
interface Group {
  readonly name: string
  /** Undefined: all files of src and packages. */
  readonly files?: RegExp
  readonly rules: readonly Rule[]
  /** What follows a place that is left out: the change has no effect there. */
  readonly except?: readonly RegExp[]
  /** Those first that kill most mutants. Tests that name the folder of the mutant run before them. */
  readonly suites: readonly (readonly string[])[]
}

const removed = () => ''
const never = () => 'false'
const always = () => 'true'

const groups: readonly Group[] = [
  {
    name: 'isolation',
    rules: [
      // The tenant, in SQL and in Prisma's `where`. The parameter stays.
      [/"?(?:\w+\.)?tenant_app_id"? = (?:\$\d+|\$\{[\w.]+\}|due\.tenant_app_id)/g, (found) => `(${found} OR true)`],
      [/"\$\{\w+(?:\(\w+\))?\.owner\}"(?: \|\| '')? = \$1/g, (found) => `(${found} OR true)`],
      [/(?<=(?:where|where:|where =) \{ )tenantAppId(?:: [\w.]+)?, /g, removed],
      // Changes of jobs.
      [/(?:\w+\.)+tenantAppId === (?:viewer\.)?tenantAppId &&/g, removed],
      // The user of an access token: in statements, in the log, and where only keys may write.
      [/"(?:id|\$\{column\})" = (?:\$2|ANY \(ARRAY\(.*\)\))/g, (found) => `(${found} OR true)`],
      [/(?<=\$2::text IS )NULL/g, () => 'NOT NULL'],
      [/userId === undefined \? undefined : \{ model: reading\.userModel, id: userId \}/g, () => 'undefined'],
      [/viewer\.userId === undefined \|\| userId === viewer\.userId/g, always],
    ],
    // Each of these conditions only keeps other partitions and nodes out, which `npm run suite -- postgres` and
    // `npm run suite -- distributed` check. Another condition of the statement decides on its result.
    except: [
      // A count that is not used.
      /^ AND id = \$2\) AS routed/,
      // Webhooks that have read all events are looked at too, and nothing is found for them.
      /^ AND event\.id > webhook\.cursor/,
      // The position of the server of each row, which its own tenant would note as well.
      /^ AND seen_in IS NULL/,
      // Rows that are old, whatever their tenants are.
      /^ AND id IN \(\s+SELECT id FROM \$\{table\}/,
      /^ AND \$\{isOld\}/,
      // Lists of the ids or places of rows, for a change of rows of the tenant.
      /^ ORDER BY id FOR UPDATE OF webhook_delivery/,
      /^\s+AND id < 'dlv_'/,
      /^ AND ctid = ANY/,
      /^ AND webhook_id = locked\.id/,
    ],
    suites: [
      ['test/auth/isolation'],
      ['test/limits/idempotency', 'test/cli/transfer', 'test/resources/', 'test/rest/bad-input', 'test/db/lists'],
      ['test/events/erasure'],
      ['test/events/event-log', 'test/events/every-column', 'test/events/position', 'test/events/moved-log'],
      ['test/jobs/'],
      ['test/webhooks/'],
      ['test/usage/'],
      ['test/auth/'],
      ['test/events/', 'test/graphql/subscriptions'],
    ],
  },
  {
    // Without the tenant, it would only forget more than it must.
    name: 'memory of responses',
    files: /\/(response-memory|tenant-memory|log-checks|change-log)\.ts$/,
    rules: [
      // The key of a kept response, without the scopes or the user.
      [/(?<=stringify\(\[summary\.hash, name, userId, )scopes, /g, removed],
      [/(?<=stringify\(\[summary\.hash, name, )userId, (?=scopes)/g, removed],
      // A request uses a check that was sent before it arrived.
      [/memory\.nextCheck = undefined/g, (found) => `setTimeout(() => (${found}), 20)`],
      // Transactions that ran at the last position in the log are forgotten.
      [/after\?\.running \?\? \[\]/g, () => '[]'],
      // Events that concern kept responses.
      [/[A-Z]+_[A-Z]+: \['.*'\],/g, removed],
      // The owners of a profile that another transaction has moved, and a tenant that is deleted.
      [/\(owners \?\? \[\]\)/g, () => '[]'],
      [/createdAt !== null && /g, removed],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is text of the source
      [/\$\{server\} \$\{createdAt\}/g, () => '${server}'],
      // Another log than before, and more changes than are read.
      [/!isSame \|\| /g, removed],
      [/ && events\.length <= maxChanges/g, removed],
      // Changes while a response is read that is kept.
      [/isOutdated \? unkept\(response\) : /g, removed],
    ],
    suites: [['test/memory/']],
  },
  {
    name: 'positions in the log',
    files: /\/event\/position\.ts$/,
    rules: [
      // Transactions that had not ended.
      [/ && !running\.includes\(transactionOf\(id\)\)/g, removed],
      [/running\[0\] \?\? last/g, () => 'last'],
      [/running: running\.filter\(\(prefix\) => prefix < to\)/g, () => 'running: []'],
      [/next === undefined \? last : idBefore\(next\)/g, () => 'last'],
      // What is older than the events that are kept.
      [/\[String\(last \?\? start\), removed\]/g, () => '[String(last ?? start)]'],
      // The last event of others.
      [/userId === undefined \? last : idBefore\(begun\)/g, () => 'last'],
      [/number > \(numbers\[index - 1\] \?\? -1\)/g, always],
    ],
    suites: [['test/events/position.test.ts', 'test/events/positions.test.ts'], ['test/events/']],
  },
  {
    name: 'live queries',
    files: /\/gateway-kit\/src\/live\//,
    rules: [
      // A change is forgotten, or noted too late.
      [/this\.#isOutdated = false/g, () => 'void 0'],
      // What is noted while a read runs, or before announcements are heard.
      [/await this\.#evaluate\(payer\)/g, (found) => `${found}; this.#isOutdated = false`],
      [/await listening$/gm, () => 'void listening'],
      [/(?<=\.\.\.origin, outdate: )\(\) => query\.outdate\(\)/g, () => '() => undefined'],
      [/this\.#isOutdated \? this\.begun \+ 1 : this\.begun/g, () => 'this.begun'],
      [/version\?\.hash === found && version\.isLast === isLast/g, never],
      // A dependency is forgotten, or an announcement.
      [/models\.has\(live\.ofEvents\)/g, never],
      [/live\.announced\.has\(model\)/g, never],
      [/model === undefined \|\| models\.has\(model as Model\)/g, never],
      // A read that met a deletion.
      [/ && !this\.#wasInterrupted/g, () => ' && false'],
      // Rights.
      [/ \$\{keyOf\(request\)\}/g, removed],
      [/version\.hash !== this\.#sent|version\?\.hash !== this\.#sent/g, always],
      [/ended >= this\.#firstRead/g, always],
      // The time between the results of a follower, and of one who has none.
      [/isFound && wait <= 0/g, () => 'isFound'],
      [/this\.#newcomers\.add\(follower\)/g, () => 'void 0'],
    ],
    suites: [
      ['packages/gateway-kit/test/live-query.embedded.test.ts', 'test/live/announcements.test.ts'],
      ['test/live/live-queries.test.ts'],
    ],
  },
  {
    name: 'entities of a subgraph',
    files: /\/federation\.ts$/,
    rules: [
      [/from < references\.length/g, () => 'from === 0'],
      [/if \(!key\) continue/g, () => 'continue'],
      [/idOf\.set\(reference, ids\[index\]\)/g, () => 'idOf.set(reference, ids[0])'],
      [/found\.set\(reference, rows\[index\] \?\? null\)/g, () => 'found.set(reference, rows[0] ?? null)'],
      [/ \|\| Number\.isSafeInteger\(value\)/g, removed],
    ],
    suites: [['test/graphql/federation.test.ts', 'test/graphql/subgraph-compatibility.embedded.test.ts']],
  },
  {
    name: 'suspension',
    files: /\/(api-keys|suspend-tenant|suspension|job-store|job-counts|statements)\.ts$/,
    rules: [
      [/(?<=minute', true\), )t\.suspended_at IS NOT NULL/g, never],
      [/(?<=SELECT )suspended_at IS NOT NULL(?= FROM tenant_app)/g, never],
      [/(?<=\$\{tenant\} AND )suspended_at IS NOT NULL/g, never],
      [/(?<=FROM tenant_app WHERE )suspended_at IS NOT NULL/g, never],
      [/ AND deleting_since IS NULL/g, removed],
      [/await releaseJobs\(sql, id\)/g, removed],
    ],
    suites: [
      ['test/auth/suspension.test.ts', 'test/jobs/suspension.test.ts', 'test/webhooks/suspension.test.ts'],
      ['test/auth/trusted-issuers.test.ts', 'test/resources/delete-tenant.test.ts'],
      ['test/cli/'],
    ],
  },
]

/** @throws Error if a rule or an exception matches nothing in all of src: what it was about is elsewhere now */
function findMutants(root: string, all: readonly string[], given: readonly string[]): Mutant[] {
  return groups.flatMap((group) => {
    const files = all.filter((file) => group.files?.test(file) ?? true)
    const texts = files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')] as const)
    const unused = new Set(group.except)
    const isLeftOut = (rest: string) => {
      const exception = group.except?.find((pattern) => pattern.test(rest))
      if (exception) unused.delete(exception)
      return exception !== undefined
    }
    const mutants = group.rules.flatMap(([pattern, replacement]) => {
      const found = texts.flatMap(([file, text]) =>
        Array.from(text.matchAll(pattern), (match) => {
          const [before, rest] = [text.slice(0, match.index), text.slice(match.index + match[0].length)]
          const line = before.split('\n').length
          return { group, file, line, replaced: match[0], text: before + replacement(match[0]) + rest, rest }
        }),
      )
      if (found.length === 0) throw new Error(`The rule ${pattern} of ${group.name} matches nothing in src.`)
      return found.filter(({ rest }) => !isLeftOut(rest))
    })
    if (unused.size > 0) throw new Error(`These exceptions of ${group.name} match nothing in src: ${[...unused]}`)
    return mutants.filter(({ file }) => given.length === 0 || given.includes(file))
  })
}

/** What has failed in the present run, and the number of files that have ended. */
let failures: string[] = []
let ended = 0

const maxAttempts = 3

/** The files in the order in which they are given. */
class AsGiven extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files
  }
}

/**
 * Starts Vitest in the copy. It prepares the database once, and starts a new process for each run. One, so that no
 * other file runs in vain beside the one that fails: shards run side by side.
 */
function startVitest(copy: string): Promise<Vitest> {
  process.chdir(copy)
  process.env['TEST_SET'] = 'all'
  const reporter = {
    onTestCaseResult(test: TestCase) {
      if (test.result().state !== 'failed') return
      failures.push(`${test.module.relativeModuleId}: ${test.fullName}`)
      // The other tests of the file can wait in vain too. Vitest's own option `bail` stops the process of the file
      // before it says which test has failed.
      void starting.then((vitest) => vitest.cancelCurrentRun('test-failure'))
    },
    onTestModuleEnd(module: TestModule) {
      ended += 1
      if (module.ok() || failures.length > 0) return
      failures.push(`${module.relativeModuleId}: ${module.errors()[0]?.message ?? 'outside a test'}`)
    },
  }
  const starting = createVitest('test', {
    root: copy,
    watch: false,
    maxWorkers: 1,
    reporters: [reporter],
    sequence: { sequencer: AsGiven },
    // A test that waits for what a mutant has removed.
    testTimeout: 60_000,
  })
  return starting
}

/**
 * What of these tests fails first. Undefined if all pass.
 *
 * @throws Error if something else fails, for example because there is no server
 */
async function failureOf(vitest: Vitest, tests: readonly TestSpecification[]): Promise<string | undefined> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    failures = []
    ended = 0
    // A process that was stopped has left its folder behind.
    for (const folder of globSync(path.join(process.env['TEST_RUN_FOLDER'] ?? '.', 'worker-*'))) {
      rmSync(folder, { recursive: true, force: true })
    }
    const { unhandledErrors } = await vitest.runTestSpecifications([...tests])
    if (failures.length > 0) {
      // Waits until the processes have stopped: otherwise the next run would be stopped too.
      await vitest.cancelCurrentRun('test-failure')
      return failures[0]
    }
    if (unhandledErrors.length > 0) throw new AggregateError(unhandledErrors)
    // The stop of an earlier run can come late.
    if (ended === tests.length) return undefined
  }
  throw new Error(`Of ${tests.length} files, ${ended} ended.`)
}

const seconds = recordedSeconds()

/** The tests of a mutant, those first that are likely to kill it soon. */
async function testsOf(vitest: Vitest, { group, file }: Mutant): Promise<TestSpecification[]> {
  const [, , folder] = file.split('/')
  const suites = await Promise.all(group.suites.map((tests) => vitest.globTestSpecifications([...tests])))
  const fileOf = ({ moduleId }: TestSpecification) => path.relative(process.cwd(), moduleId)
  const isOther = (test: TestSpecification) => Number(!fileOf(test).includes(`/${folder}`))
  const secondsOf = (test: TestSpecification) => seconds.get(fileOf(test)) ?? 0
  const sorted = suites.flatMap((tests) => tests.toSorted((one, other) => secondsOf(one) - secondsOf(other)))
  return [...new Set(sorted)].toSorted((one, other) => isOther(one) - isOther(other))
}

/** The test that fails with the mutant. Undefined if it survives. */
async function killerOf(vitest: Vitest, mutant: Mutant): Promise<string | undefined> {
  const tests = await testsOf(vitest, mutant)
  const original = readFileSync(mutant.file)
  writeFileSync(mutant.file, mutant.text)
  try {
    return await failureOf(vitest, tests)
  } finally {
    writeFileSync(mutant.file, original)
  }
}

const sound = new Set<string>()

/** @throws Error if the tests of the file that failed fail without the mutant too */
async function checkWithoutMutant(vitest: Vitest, killer: string): Promise<void> {
  const [file = ''] = killer.split(':')
  if (sound.has(file)) return
  const failure = await failureOf(vitest, await vitest.globTestSpecifications([file]))
  if (failure !== undefined) throw new Error(`A test fails without a mutant: ${failure}`)
  sound.add(file)
}

const root = path.resolve(import.meta.dirname, '..')
const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
const all = tracked.split('\n').filter((file) => file !== '' && !file.startsWith('bench/'))
const { values: options, positionals: given } = parseArgs({
  allowPositionals: true,
  options: { shard: { type: 'string', default: '1/1' }, help: { type: 'boolean', default: false } },
})
if (options.help) {
  process.stdout.write(help)
  process.exit()
}
const [shard = 1, shards = 1] = options.shard.split('/').map(Number)
const sources = all.filter((file) => /^(src|packages\/[\w-]+\/src)\/.*\.ts$/.test(file))

const copy = mkdtempSync(path.join(tmpdir(), 'fusion-mutants-'))
try {
  for (const file of [...all, 'packages/database/src/generated']) {
    cpSync(path.join(root, file), path.join(copy, file), { recursive: true })
  }
  linkPackages(copy)
  const found = findMutants(root, sources, given)
  const [from, to] = [shard - 1, shard].map((part) => Math.round((found.length * part) / shards))
  const mutants = found.slice(from, to)
  if (found.length > 0 && mutants.length === 0) throw new Error(`No mutant is in the shard ${options.shard}.`)
  const vitest = await startVitest(copy)
  const survivors: Mutant[] = []
  for (const [index, mutant] of mutants.entries()) {
    const killer = await killerOf(vitest, mutant)
    if (killer === undefined) survivors.push(mutant)
    else await checkWithoutMutant(vitest, killer)
    const place = `${mutant.file}:${mutant.line} ${mutant.replaced.trim()}`
    const result = killer === undefined ? 'SURVIVED' : 'killed'
    process.stdout.write(`${index + 1}/${mutants.length} ${result} ${place}\n${killer ? `    by ${killer}\n` : ''}`)
  }
  await vitest.close()
  process.stdout.write(`${mutants.length} mutants, ${survivors.length} survivors\n`)
  process.exitCode = survivors.length > 0 ? 1 : 0
} finally {
  rmSync(copy, { recursive: true, force: true })
}
