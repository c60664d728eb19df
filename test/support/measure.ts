import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { projectRoot } from './docs.ts'

/**
 * What a test file took. The CPU is that of its worker and of the processes that it started, without a database
 * server.
 */
export interface MeasuredFile {
  readonly file: string
  readonly cpuSeconds: number
  readonly wallSeconds: number
  readonly tests: number
}

/** What a run of Vitest took. */
export interface MeasuredRun {
  readonly tests: number
  readonly cpuSeconds: number
  readonly wallSeconds: number
  readonly files: readonly MeasuredFile[]
}

declare module 'vitest' {
  interface TaskMeta {
    /** Set at the end of each file, by leftovers.ts. */
    measured?: { readonly cpuSeconds: number; readonly worker: number; readonly workerCpuSeconds: number }
  }
}

/** Where the numbers of the last runs on this machine are kept. */
export const measuredFolder = path.join(projectRoot, 'node_modules/.cache/suite')

/** The numbers in the repository: `node tools/suite.ts --record` writes them. */
export const recordedFile = path.join(projectRoot, 'test/suite.json')

/** The seconds that each test file took when the numbers in the repository were written. */
export function recordedSeconds(): ReadonlyMap<string, number> {
  const { seconds } = JSON.parse(readFileSync(recordedFile, 'utf8')) as { seconds: Record<string, number> }
  return new Map(Object.entries(seconds))
}

/**
 * The CPU seconds of this process, and of its children that have ended. Elsewhere than on Linux, only those of this
 * process.
 */
export function cpuSeconds(): number {
  try {
    // `pid (name) state …`, in which the fields 14 to 17 are utime, stime, cutime and cstime, in hundredths.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0)
  } catch {
    return ownCpuSeconds()
  }
}

function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

const rounded = (seconds: number) => Math.round(seconds * 10) / 10

/** What a step of test/all.ts took. */
export interface MeasuredStep {
  readonly name: string
  readonly wallSeconds: number
  readonly cpuSeconds: number
  readonly hasFailed: boolean
}

/**
 * Writes what the files of a run took to a file, which `node tools/suite.ts` prints.
 *
 * @param name of the run. A run without a name is measured only within test/all.ts
 */
export function measureRun(name?: string): Reporter {
  const folder = process.env['TEST_MEASURED'] ?? (name && measuredFolder)
  let begun = performance.now()
  return {
    onTestRunStart() {
      begun = performance.now()
    },
    onTestRunEnd(modules) {
      const files = modules.map(measureFile).sort((one, other) => other.cpuSeconds - one.cpuSeconds)
      const workers = new Map<number, number>()
      for (const module of modules) {
        const { worker = 0, workerCpuSeconds = 0 } = module.meta().measured ?? {}
        workers.set(worker, Math.max(workers.get(worker) ?? 0, workerCpuSeconds))
      }
      const run: MeasuredRun = {
        tests: files.reduce((sum, { tests }) => sum + tests, 0),
        cpuSeconds: rounded([...workers.values()].reduce((sum, seconds) => sum + seconds, ownCpuSeconds())),
        wallSeconds: rounded((performance.now() - begun) / 1_000),
        files,
      }
      if (folder) {
        mkdirSync(folder, { recursive: true })
        writeFileSync(path.join(folder, `${name ?? process.pid}.json`), JSON.stringify(run))
      }
      if (!process.env['TEST_CPU']) return
      for (const { file, cpuSeconds: cpu } of files) process.stdout.write(`CPU ${cpu} s ${file}\n`)
    },
  }
}

function measureFile(module: TestModule): MeasuredFile {
  const { collectDuration, duration } = module.diagnostic()
  return {
    file: path.relative(projectRoot, module.moduleId),
    cpuSeconds: rounded(module.meta().measured?.cpuSeconds ?? 0),
    wallSeconds: rounded((collectDuration + duration) / 1_000),
    tests: [...module.children.allTests()].filter((test) => test.result().state !== 'skipped').length,
  }
}
