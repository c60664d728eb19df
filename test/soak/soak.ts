// Runs a gateway under load on a PostgreSQL server of its own, while clients disconnect and database connections are
// killed. Checks that no tenant gets rows of another one, that every request is answered, and that no memory or
// connection leaks. Exits with 1 if it finds a problem.
//
//   npm run suite -- soak [--minutes N]
import { parseArgs } from 'node:util'
import { canCreateClusters } from '../support/cluster.ts'
import { megabytes, runSoak } from './run-soak.ts'

const help = `npm run suite -- soak [OPTIONS]

  --minutes N  duration in minutes, after the warm-up (default: 10)
  --quick      run for 30 seconds, after the warm-up
  --help       print this help
`

const print = (line: string) => void process.stdout.write(`${line}\n`)

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const minutes = values.quick ? 0.5 : Number(values.minutes)

if (values.help) {
  process.stdout.write(help)
} else if (!(minutes > 0)) {
  process.stderr.write('--minutes must be a number above 0.\n')
  process.exitCode = 2
} else if (!canCreateClusters) {
  process.stderr.write("The soak test needs Debian's package postgresql.\n")
  process.exitCode = 1
} else {
  const { problems, heapBefore, heapAfter, ...counts } = await runSoak({
    seconds: minutes * 60,
    shapes: 1_000,
    warmUpRounds: 20,
    maxGrowth: 0.1,
    tenants: 50,
    clients: 16,
    print,
  })
  for (const [name, count] of Object.entries(counts)) print(`${name.padEnd(12)} ${count}`)
  print(`${'heap'.padEnd(12)} ${megabytes(heapBefore)} → ${megabytes(heapAfter)}`)
  for (const problem of problems) print(`PROBLEM: ${problem}`)
  print(problems.length === 0 ? 'No problems' : `${problems.length} problems`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
