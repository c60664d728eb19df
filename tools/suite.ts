import { existsSync, globSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { projectRoot } from '../test/support/docs.ts'
import { allSuites } from '../test/support/long-suites.ts'
import { type MeasuredRun, type MeasuredStep, measuredFolder, recordedFile } from '../test/support/measure.ts'

const help = `node tools/suite.ts [OPTIONS]

Prints what the steps of the last \`npm run test:all\` on this machine and its slowest files took, and how that compares with
the numbers in the repository.

  --check     fail if the recorded numbers exceed their bounds: \`npm run check\` runs it
  --record    write the numbers of the last run into test/suite.json and CONTRIBUTING.md
  --factor F  with --record, multiply the numbers of npm test by F, on a machine that is slower
  --help      print this help
`

/** The numbers in the repository. */
interface Recorded {
  /** What `npm test` took, with CPU seconds of all its processes. */
  readonly npmTest: { readonly tests: number; readonly wallSeconds: number; readonly cpuSeconds: number }
  /** The CPU that `npm test` may take, which is a tenth more than when this number was last written by hand. */
  readonly acceptedCpuSeconds: number
  /** The CPU seconds of each file of `npm test`. */
  readonly files: Readonly<Record<string, number>>
  /** The files of `npm test` that may take more than five seconds of CPU, and why. */
  readonly exceptions: Readonly<Record<string, string>>
  /** What each step of .ci/run took. */
  readonly steps: Readonly<Record<string, Pick<MeasuredStep, 'wallSeconds' | 'cpuSeconds'>>>
  /** The wall time of each file, which decides when it runs, and of each long suite, which decides in which quarter. */
  readonly seconds: Readonly<Record<string, number>>
}

const maxFileSeconds = 5
const maxExceptions = 10
const shownFiles = 20

const { values: options } = parseArgs({
  options: {
    check: { type: 'boolean' },
    record: { type: 'boolean' },
    factor: { type: 'string', default: '1' },
    help: { type: 'boolean' },
  },
})
if (options.help) {
  process.stdout.write(help)
  process.exit()
}
/** The names of the long suites that are not test files. */
const suites = new Set(allSuites().map(({ name }) => name))

const recorded = JSON.parse(readFileSync(recordedFile, 'utf8')) as Recorded

/** The files of `npm test`. */
const filesOfNpmTest = globSync('{test,packages/*/test}/**/*.test.ts', { cwd: projectRoot })
  .filter((file) => !/\.(slow|long|postgres)\.|\/faults\/(neighbours|overload)\./.test(file))
  .sort()

function check(): void {
  const { files, exceptions, acceptedCpuSeconds, npmTest } = recorded
  const problems = [
    ...filesOfNpmTest
      .filter((file) => files[file] === undefined)
      .map((file) => `${file} has no number. Run npm test, then node tools/suite.ts --record`),
    ...Object.entries(files)
      .filter(([file, seconds]) => seconds > maxFileSeconds && exceptions[file] === undefined)
      .map(
        ([file, seconds]) =>
          `${file} takes ${seconds} s of CPU, more than ${maxFileSeconds}. Move a part into a .slow file`,
      ),
    ...Object.keys(exceptions)
      .filter((file) => !((files[file] ?? 0) > maxFileSeconds))
      .map((file) => `${file} is no longer an exception`),
    ...(Object.keys(exceptions).length > maxExceptions ? [`There are more than ${maxExceptions} exceptions`] : []),
    ...(npmTest.cpuSeconds > acceptedCpuSeconds * 1.1
      ? [`npm test takes ${npmTest.cpuSeconds} s of CPU, a tenth more than the accepted ${acceptedCpuSeconds}`]
      : []),
  ]
  for (const problem of problems) process.stderr.write(`${problem}.\n`)
  process.exitCode = problems.length > 0 ? 1 : 0
}

const readJson = <Value>(file: string): Value => JSON.parse(readFileSync(file, 'utf8'))

/** The runs of the last `npm run test:all`, by their names, and its steps. */
function readLast() {
  const folder = path.join(measuredFolder, 'all')
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name !== 'steps.json') : []
  const runs = new Map(names.map((name) => [name, readJson<MeasuredRun>(path.join(folder, name))]))
  const stepsFile = path.join(folder, 'steps.json')
  return { runs, steps: existsSync(stepsFile) ? readJson<MeasuredStep[]>(stepsFile) : [] }
}

/** What the last `npm test` took, by itself or within `npm run test:all`. */
function readNpmTest(): MeasuredRun | undefined {
  const files = [measuredFolder, path.join(measuredFolder, 'all')]
    .map((folder) => path.join(folder, 'npm test.json'))
    .filter(existsSync)
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)
  return files[0] === undefined ? undefined : readJson<MeasuredRun>(files[0])
}

/** A number of seconds, and its ratio to the recorded one. */
function compared(seconds: number, before: number | undefined): string {
  const ratio = before ? `${(seconds / before).toFixed(2)} ×` : 'new'
  return `${seconds.toFixed(1).padStart(8)} s ${ratio.padStart(7)}`
}

function print(): void {
  const { runs, steps } = readLast()
  const npmTest = readNpmTest()
  const write = (line: string) => process.stdout.write(`${line}\n`)
  if (!npmTest && steps.length === 0) {
    write('Nothing was measured on this machine: run npm test, or npm run test:all.')
    return
  }
  write('The ratios compare with test/suite.json. The CPU is without that of database servers.')
  if (npmTest) {
    const { tests, wallSeconds, cpuSeconds } = npmTest
    write(`\nnpm test: ${tests} tests`)
    write(`  wall ${compared(wallSeconds, recorded.npmTest.wallSeconds)}`)
    write(`  CPU  ${compared(cpuSeconds, recorded.npmTest.cpuSeconds)}`)
  }
  if (steps.length > 0) write('\nSteps:                    wall                CPU')
  for (const { name, wallSeconds, cpuSeconds, hasFailed } of steps) {
    const wall = compared(wallSeconds, recorded.steps[name]?.wallSeconds)
    write(`  ${wall} ${cpuSeconds.toFixed(1).padStart(8)} s  ${name}${hasFailed ? ': FAILED' : ''}`)
  }
  const files = [...runs.values(), ...(npmTest && runs.size === 0 ? [npmTest] : [])].flatMap((run) => run.files)
  const slowest = files.toSorted((one, other) => other.wallSeconds - one.wallSeconds).slice(0, shownFiles)
  write(`\nThe ${slowest.length} slowest of ${files.length} files:\n                    wall      CPU`)
  for (const { file, wallSeconds, cpuSeconds } of slowest)
    write(`  ${compared(wallSeconds, recorded.seconds[file])} ${cpuSeconds.toFixed(1).padStart(6)} s  ${file}`)
}

/** Writes what was measured into the file of the repository. What was not measured keeps its numbers. */
function record(): void {
  const { runs, steps } = readLast()
  const npmTest = readNpmTest()
  const all = [...(npmTest ? [npmTest] : []), ...runs.values()].flatMap(({ files }) => files)
  const scaled = (seconds: number) => Math.round(seconds * Number(options.factor) * 10) / 10
  const isThere = (file: string) => existsSync(path.join(projectRoot, file))
  const sorted = (entries: (readonly [string, number])[]) =>
    Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)))
  const kept = Object.entries(recorded.seconds).filter(([file]) => !/^(test|packages)\//.test(file) || isThere(file))
  // The longest counts: a file may take much longer on PostgreSQL than on the embedded database, on which it may do
  // nothing. npm test alone runs no file on PostgreSQL.
  const longest = new Map(runs.size === 0 ? kept : [])
  for (const { file, wallSeconds } of all) longest.set(file, Math.max(wallSeconds, longest.get(file) ?? 0))
  const numbers: Recorded = {
    ...recorded,
    ...(npmTest && {
      npmTest: {
        tests: npmTest.tests,
        wallSeconds: scaled(npmTest.wallSeconds),
        cpuSeconds: scaled(npmTest.cpuSeconds),
      },
      files: sorted(npmTest.files.map(({ file, cpuSeconds }) => [file, scaled(cpuSeconds)])),
    }),
    ...(steps.length > 0 && {
      steps: Object.fromEntries(
        steps
          .filter(({ name }) => !suites.has(name))
          .map(({ name, wallSeconds, cpuSeconds }) => [
            name,
            { wallSeconds: Math.round(wallSeconds), cpuSeconds: Math.round(cpuSeconds) },
          ]),
      ),
    }),
    seconds: sorted([
      ...kept,
      ...longest,
      ...steps
        .filter(({ name }) => suites.has(name))
        .map(({ name, wallSeconds }) => [name, Math.round(wallSeconds)] as const),
    ]),
  }
  writeFileSync(recordedFile, `${JSON.stringify(numbers, null, 2)}\n`)
  const page = path.join(projectRoot, 'CONTRIBUTING.md')
  const text = readFileSync(page, 'utf8')
  writeFileSync(page, text.replace(/(?<=<!-- suite -->\n).*?(?=<!-- \/suite -->)/s, tableOf(numbers)))
}

/** The table of CONTRIBUTING.md. */
function tableOf({ npmTest, steps }: Recorded): string {
  const rows = Object.entries(steps)
    .filter(([name]) => name !== 'npm test')
    .map(([name, { wallSeconds, cpuSeconds }]) => `| .ci/run: ${name} | ${wallSeconds} s | ${cpuSeconds} s |`)
  return [
    '| Run | Wall | CPU |',
    '|---|---|---|',
    `| \`npm test\`, ${npmTest.tests} tests | ${Math.round(npmTest.wallSeconds)} s | ${Math.round(npmTest.cpuSeconds)} s |`,
    ...rows,
    '',
  ].join('\n')
}

if (options.check) check()
else if (options.record) record()
else print()
