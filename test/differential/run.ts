// Compares many random operations with the reference: `npm run suite -- differential --operations 20000 --seed N`. Runs
// on the embedded database or, with TEST_DATABASE_URL, on PostgreSQL.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { parseArgs } from 'node:util'

const help = `npm run suite -- differential [OPTIONS]

  --operations N  how many random operations run (default: 20000)
  --seed N        a whole number that decides which (default: random)
  --help          print this help

TEST_DATABASE_URL is the URL of a PostgreSQL server. Without it, the embedded database is used.
`

function readOptions() {
  const { values } = parseArgs({
    options: {
      operations: { type: 'string', default: '20000' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
      help: { type: 'boolean', default: false },
    },
  })
  if (!/^[1-9]\d{0,8}$/.test(values.operations)) throw new Error('--operations must be a whole number above 0.')
  if (!/^\d{1,9}$/.test(values.seed)) throw new Error('--seed must be a whole number with at most 9 digits.')
  return values
}

/** Runs differential.test.ts, which has a database of its own. Returns its exit code. */
async function runTest(operations: string, seed: string): Promise<number> {
  const vitest = path.resolve(import.meta.dirname, '../../node_modules/vitest/vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', 'test/differential/differential.test.ts'], {
    stdio: 'inherit',
    cwd: path.resolve(import.meta.dirname, '../..'),
    env: { ...process.env, DIFFERENTIAL_OPERATIONS: operations, DIFFERENTIAL_SEED: seed },
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

async function main(): Promise<number> {
  let options: ReturnType<typeof readOptions>
  try {
    options = readOptions()
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${help}`)
    return 2
  }
  if (options.help) {
    process.stdout.write(help)
    return 0
  }
  const { operations, seed } = options
  const database = process.env['TEST_DATABASE_URL'] ? 'PostgreSQL' : 'the embedded database'
  process.stdout.write(`seed ${seed}, ${operations} operations on ${database}\n`)
  const startedAt = performance.now()
  const code = await runTest(operations, seed)
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  const result = code === 0 ? 'No mismatches' : 'Mismatches'
  process.stdout.write(`${result}; seed ${seed}, ${operations} operations, ${seconds} s\n`)
  return code === 0 ? 0 : 1
}

process.exitCode = await main()
