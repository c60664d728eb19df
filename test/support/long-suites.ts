import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { projectRoot } from './docs.ts'
import { recordedSeconds } from './measure.ts'

/** What takes minutes: a test file, or a suite of `npm run suite` with its arguments. */
export interface LongSuite {
  readonly name: string
  /** Undefined for a test file. */
  readonly suite?: readonly string[]
  readonly needsServer?: boolean
  /** Whether it uses the embedded database although there is a server. */
  readonly isEmbedded?: boolean
  /** Whether it says how soon something is over, so it needs the machine to itself. */
  readonly isAlone?: boolean
}

/** The suites that take minutes and are not test files. */
const suites: readonly LongSuite[] = [
  { name: 'a campaign of faults', suite: ['campaign', '--seconds', '60'], needsServer: true },
  { name: 'a soak', suite: ['soak', '--quick'], needsServer: true, isAlone: true },
  {
    name: 'many random operations on PostgreSQL',
    suite: ['differential', '--operations', '2000'],
    needsServer: true,
  },
  {
    name: 'many random operations on the embedded database',
    suite: ['differential', '--operations', '2000'],
    isEmbedded: true,
  },
  { name: 'tables distributed by Citus', suite: ['distributed'] },
]

/** `npm run test:all` runs a quarter of the suites, a release all. */
const quarters = 4

/** Chooses the suites of a quarter. By the recorded numbers, each quarter takes about as long as the others. */
export function suitesOf(quarter: number): LongSuite[] {
  const seconds = recordedSeconds()
  const files = globSync('{test,packages/*/test}/**/*.long.*', { cwd: projectRoot }).map(
    (name): LongSuite => ({ name }),
  )
  const all = [...suites, ...files].map((suite) => ({ suite, seconds: seconds.get(suite.name) ?? 60 }))
  const bins = Array.from({ length: quarters }, () => ({ seconds: 0, suites: [] as LongSuite[] }))
  for (const one of all.toSorted((a, b) => b.seconds - a.seconds || (a.suite.name < b.suite.name ? -1 : 1))) {
    const shortest = bins.reduce((least, bin) => (bin.seconds < least.seconds ? bin : least))
    shortest.seconds += one.seconds
    shortest.suites.push(one.suite)
  }
  return bins[quarter]?.suites ?? []
}

/** All suites. */
export const allSuites = (): LongSuite[] => Array.from({ length: quarters }, (_, quarter) => suitesOf(quarter)).flat()

/** The quarter of the commit that is checked out: its hash decides. */
export function quarterOfCommit(): number {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: projectRoot, encoding: 'utf8' })
  return Number.parseInt(commit.slice(0, 8), 16) % quarters
}

/** The examples whose packages test files need: those that they ask for by `hasExample`. */
export function examplesOf(files: readonly string[]): string[] {
  const found = files.flatMap((file) => {
    const text = readFileSync(path.join(projectRoot, file), 'utf8')
    const named = [...text.matchAll(/hasExample\('([\w-]+)'/g)].map(([, name = '']) => name)
    return text.includes('hasDashboardPackages') ? [...named, 'creator-dashboard'] : named
  })
  return [...new Set(found)].sort()
}
