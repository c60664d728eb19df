// Takes the tenant out of each read and write in turn, and runs the tests: one must fail. Prints the survivors, and ends
// with 1 when there are some. It works in a copy; the project itself is not touched.
//
//   npm run test:mutants [-- FILE…]   all of src, or these files
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

interface Mutant {
  readonly file: string
  readonly line: number
  readonly was: string
  readonly text: string
}

/** What a predicate looks like, and what becomes of it: something that is always true. */
const rules: readonly (readonly [RegExp, (...found: string[]) => string])[] = [
  // SQL, where the parameter has to stay.
  [/"?(?:\w+\.)?tenant_app_id"? = (?:\$\d+|\$\{[\w.]+\}|queue\.tenant_app_id)/g, (found) => `(${found} OR true)`],
  // Prisma's `where`.
  [/(?<=(?:where|where:|where =) \{ )tenantAppId(?:: [\w.]+)?, /g, () => ''],
  [/\.\.\.key(?=, status)/g, () => '...{ ...key, tenantAppId: undefined }'],
  // News of jobs.
  [/\w+\.tenantAppId === (?:viewer\.)?tenantAppId &&/g, () => ''],
]

/** Reads that are of all tenants, or of none. */
const exempt = [/waiting-queues\.ts$/, /key\.service\.ts$/, /authenticate\.ts$/, /worker\.ts$/]

/** The quickest first: most mutants do not get past it. */
const suites = [
  ['test/isolation.generated.test.ts', 'test/isolation.test.ts'],
  ['test/jobs.test.ts', 'test/job-work.test.ts', 'test/job-requests.test.ts', 'test/subscriptions.test.ts'],
  [
    'test/idempotency.test.ts',
    'test/transfer.test.ts',
    'test/linking.test.ts',
    'test/bad-input.test.ts',
    'test/lists.test.ts',
  ],
]

function findMutants(root: string, files: readonly string[]): Mutant[] {
  return files.flatMap((file) => {
    const text = readFileSync(path.join(root, file), 'utf8')
    return rules.flatMap(([pattern, replacement]) =>
      Array.from(text.matchAll(pattern), (match) => ({
        file,
        line: text.slice(0, match.index).split('\n').length,
        was: match[0],
        text: text.slice(0, match.index) + replacement(match[0]) + text.slice(match.index + match[0].length),
      })),
    )
  })
}

/** Whether a test fails when the mutant stands in its place. */
function isKilled(copy: string, { file, text }: Mutant): boolean {
  const target = path.join(copy, file)
  const original = readFileSync(target)
  writeFileSync(target, text)
  try {
    return suites.some((tests) => {
      const run = ['node_modules/vitest/vitest.mjs', 'run', '--bail', '1', ...tests]
      return spawnSync(process.execPath, run, { cwd: copy, stdio: 'ignore', timeout: 180_000 }).status !== 0
    })
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
  for (const file of [...all, 'src/db/generated']) {
    cpSync(path.join(root, file), path.join(copy, file), { recursive: true })
  }
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'))
  const mutants = findMutants(root, files)
  const survivors = mutants.filter((mutant, index) => {
    const killed = isKilled(copy, mutant)
    const place = `${mutant.file}:${mutant.line}`
    process.stdout.write(
      `${index + 1}/${mutants.length} ${killed ? 'killed  ' : 'SURVIVED'} ${place} ${mutant.was.trim()}\n`,
    )
    return !killed
  })
  process.stdout.write(`${mutants.length} mutants, ${survivors.length} survivors\n`)
  process.exitCode = survivors.length > 0 ? 1 : 0
} finally {
  rmSync(copy, { recursive: true, force: true })
}
