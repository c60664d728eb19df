// Reads and writes at two gateways of two processes each, on a PostgreSQL server of its own, through PgBouncer. The
// server is restarted, fails over to its replica, gets a restored backup, and its rows are moved to another database.
// Checks that each read shows what was acknowledged before it was sent, and that each result of a live query is one
// that a read could have had, and comes in time. Exits with 1 if one does not.
//
//   npm run suite -- memory [--seconds N --reads N --followers N --seed N]
import { parseArgs } from 'node:util'
import { canCreateClusters } from '../support/cluster.ts'
import { hasPgBouncer } from '../support/pgbouncer.ts'
import { checkSystem } from './check-system.ts'

const help = `npm run suite -- memory [OPTIONS]

  --seconds N    the least duration (default: 120)
  --reads N      the least number of reads (default: 200000)
  --followers N  the number of live queries that are followed (default: 64)
  --seed N       a whole number that decides what is read and written (default: random)
  --help         print this help
`

const print = (line: string) => void process.stdout.write(`${line}\n`)

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    reads: { type: 'string', default: '200000' },
    followers: { type: 'string', default: '64' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    help: { type: 'boolean', default: false },
  },
})
const [seconds, reads, seed, followers] = [values.seconds, values.reads, values.seed, values.followers].map(Number) as [
  number,
  number,
  number,
  number,
]

if (values.help) {
  process.stdout.write(help)
} else if (!(seconds > 0 && reads >= 0 && seed >= 0 && followers >= 0)) {
  process.stderr.write(`--seconds, --reads, --followers and --seed must be numbers.\n${help}`)
  process.exitCode = 2
} else if (!canCreateClusters || !hasPgBouncer) {
  process.stderr.write("It needs Debian's packages postgresql and pgbouncer.\n")
  process.exitCode = 1
} else {
  print(`seed ${seed}`)
  const { problems, live, ...counts } = await checkSystem({ seconds, reads, seed, followers, print, end: stop.signal })
  for (const [name, count] of Object.entries(counts)) print(`${name.padEnd(8)} ${count}`)
  const { lateness, ...ofLive } = live
  print(`live     ${JSON.stringify(ofLive)}, late by ${JSON.stringify(lateness)} ms`)
  for (const problem of problems) print(`PROBLEM: ${problem}`)
  print(problems.length === 0 ? 'No problems' : `${problems.length} problems`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
