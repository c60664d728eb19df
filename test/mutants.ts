// Removes the tenant, or the user of an access token, from each read and write, and what keeps the memory of responses
// from being out of date, one at a time, and runs the tests: one of them must fail. Set TEST_DATABASE_URL: the embedded
// database has no transactions that run while others read. Prints the mutants that survived, and exits with 1 if there
// are any. It works in a copy; the project itself does not change.
//
//   npm run test:mutants [-- FILE…]   all of src, or these files
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A file with one change. */
interface Mutant {
  readonly file: string
  readonly line: number
  /** The text that was replaced. */
  readonly replaced: string
  /** The whole file with the change. */
  readonly text: string
}

/** Patterns of conditions on the tenant, and a replacement that is always true. */
const rules: readonly (readonly [RegExp, (found: string) => string])[] = [
  // SQL. The parameter stays.
  [/"?(?:\w+\.)?tenant_app_id"? = (?:\$\d+|\$\{[\w.]+\}|due\.tenant_app_id)/g, (found) => `(${found} OR true)`],
  // The user of an access token, in SQL and in Prisma's `where`.
  [/"(?:id|\$\{column\})" = (?:\$2|ANY \(ARRAY\(.*\)\))/g, (found) => `(${found} OR true)`],
  [/(?<=\$2::text IS )NULL/g, () => 'NOT NULL'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is text of the source
  [/ AND user_id = coalesce\(\$\{userId\}, user_id\)/g, () => ' AND coalesce(${userId}, user_id) IS NOT NULL'],
  [/, AND: selfOf\(viewer\)/g, () => ''],
  [/, \.\.\.ofUser\(viewer\)/g, () => ''],
  // Prisma's `where`.
  [/(?<=(?:where|where:|where =) \{ )tenantAppId(?:: [\w.]+)?, /g, () => ''],
  // Changes of jobs.
  [/(?:\w+\.)+tenantAppId === (?:viewer\.)?tenantAppId &&/g, () => ''],
]

/** Files that find a key by its hash or its id, before the tenant is known. */
const exempt = [/\/key\.service\.ts$/, /valid-keys\.ts$/]

/** The fastest first: they kill most mutants. */
const suites = [
  ['test/auth/isolation.test.ts', 'test/auth/isolation.users.test.ts'],
  ['test/jobs/', 'test/graphql/subscriptions.test.ts'],
  [
    'test/limits/idempotency.test.ts',
    'test/cli/transfer.test.ts',
    'test/resources/linking.test.ts',
    'test/rest/bad-input.test.ts',
    'test/db/lists.test.ts',
    'test/auth/api-keys.test.ts',
  ],
  ['test/webhooks/deliveries.test.ts', 'test/events/erasure.test.ts', 'test/events/event-log.test.ts', 'test/usage/'],
]

/** The memory of responses. Without the tenant, it would only forget more than it must. */
const memory = {
  files: /\/(response-memory|change-log)\.ts$/,
  suites: [['test/memory/']],
  rules: [
    // The key of a kept response, without the scopes or the user.
    [/(?<=stringify\(\[number, userId, )scopes, /g, () => ''],
    [/(?<=stringify\(\[number, )userId, (?=scopes)/g, () => ''],
    // A request uses a check that was sent before it arrived.
    [
      /memory\.nextCheck = undefined/g,
      (found) => `void memory.lastCheck.finally(() => setTimeout(() => (${found}), 20))`,
    ],
    // Transactions that ran at the last position in the log are forgotten.
    [/after\?\.running \?\? \[\]/g, () => '[]'],
    // Events that concern kept responses.
    [/[A-Z]+_[A-Z]+: \['.*'\],/g, () => ''],
    // The owners of a profile that another transaction has moved, and a tenant that is deleted.
    [/\(owners \?\? \[\]\)/g, () => '[]'],
    [/createdAt !== null && /g, () => ''],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is text of the source
    [/\$\{server\} \$\{createdAt\}/g, () => '${server}'],
    // Another log than before, and more changes than are read.
    [/!isSame \|\| /g, () => ''],
    [/ && events\.length <= maxChanges/g, () => ''],
    // Changes while a response is read that is kept.
    [/reading\.isOutdated \|\|= isOutdated\(reading\)/g, () => 'reading.isOutdated ||= false'],
  ] as typeof rules,
}

const rulesFor = (file: string) => (memory.files.test(file) ? memory.rules : rules)
const suitesFor = (file: string) => (memory.files.test(file) ? memory.suites : suites)

function findMutants(root: string, files: readonly string[]): Mutant[] {
  return files.flatMap((file) => {
    const text = readFileSync(path.join(root, file), 'utf8')
    return rulesFor(file).flatMap(([pattern, replacement]) =>
      Array.from(text.matchAll(pattern), (match) => ({
        file,
        line: text.slice(0, match.index).split('\n').length,
        replaced: match[0],
        text: text.slice(0, match.index) + replacement(match[0]) + text.slice(match.index + match[0].length),
      })),
    )
  })
}

/** Whether all of these tests pass. */
function pass(copy: string, tests: readonly string[]): boolean {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--bail', '1', ...tests]
  return spawnSync(process.execPath, args, { cwd: copy, stdio: 'ignore', timeout: 180_000 }).status === 0
}

/** Whether a test fails with the mutant. */
function isKilled(copy: string, { file, text }: Mutant): boolean {
  const target = path.join(copy, file)
  const original = readFileSync(target)
  writeFileSync(target, text)
  try {
    return !suitesFor(file).every((tests) => pass(copy, tests))
  } finally {
    writeFileSync(target, original)
  }
}

const root = path.resolve(import.meta.dirname, '..')
const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
const all = tracked.split('\n').filter((file) => file !== '' && !file.startsWith('bench/'))
const given = process.argv.slice(2)
const files = (given.length > 0 ? given : all.filter((file) => /^src\/.*\.ts$/.test(file))).filter(
  (file) => !exempt.some((pattern) => pattern.test(file)),
)

const copy = mkdtempSync(path.join(tmpdir(), 'fusion-mutants-'))
try {
  for (const file of [...all, 'src/engine/db/generated']) {
    cpSync(path.join(root, file), path.join(copy, file), { recursive: true })
  }
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'))
  const mutants = findMutants(root, files)
  const used = new Set(mutants.flatMap(({ file }) => suitesFor(file)))
  if (![...used].every((tests) => pass(copy, tests))) throw new Error('The tests fail without a mutant.')
  const survivors = mutants.filter((mutant, index) => {
    const killed = isKilled(copy, mutant)
    const place = `${mutant.file}:${mutant.line}`
    process.stdout.write(
      `${index + 1}/${mutants.length} ${killed ? 'killed  ' : 'SURVIVED'} ${place} ${mutant.replaced.trim()}\n`,
    )
    return !killed
  })
  process.stdout.write(`${mutants.length} mutants, ${survivors.length} survivors\n`)
  process.exitCode = survivors.length > 0 ? 1 : 0
} finally {
  rmSync(copy, { recursive: true, force: true })
}
