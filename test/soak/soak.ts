// Keeps a gateway busy on a PostgreSQL server of its own, with clients that go away and connections that are ended, and
// looks whether tenants stay apart, every request is answered, and nothing piles up. Ends with 1 when something is wrong.
//
//   npm run test:soak [-- --minutes N]
import { parseArgs } from 'node:util'
import { canMakeClusters } from '../support/cluster.ts'
import { megabytes, runSoak } from './run-soak.ts'

const help = `npm run test:soak [-- OPTIONS]

  --minutes N  how long, after warming up (default: 10)
  --quick      half a minute, after warming up
  --help       this
`

const say = (line: string) => void process.stdout.write(`${line}\n`)

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
} else if (!canMakeClusters) {
  process.stderr.write("It needs Debian's postgresql installed.\n")
  process.exitCode = 1
} else {
  const { problems, heapBefore, heapAfter, ...counts } = await runSoak({
    ...{ seconds: minutes * 60, shapes: 1_000, warmingRounds: 20, maxGrowth: 0.1, tenants: 50, clients: 16, say },
  })
  for (const [name, count] of Object.entries(counts)) say(`${name.padEnd(12)} ${count}`)
  say(`${'heap'.padEnd(12)} ${megabytes(heapBefore)} → ${megabytes(heapAfter)}`)
  for (const problem of problems) say(`WRONG: ${problem}`)
  say(problems.length === 0 ? 'All went well.' : `${problems.length} problems`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
