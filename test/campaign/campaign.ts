// Runs random faults and hostile clients together against two gateways and two workers, on a PostgreSQL server of its
// own. Well-behaved clients write, read and run jobs meanwhile. Checks that every acknowledged write is found once,
// every job ran to its end once, no tenant saw rows of another one, and everything recovered. Exits with 1 if it finds
// a problem.
//
//   npm run suite -- campaign [--seconds N --seed N]
import { parseArgs } from 'node:util'
import { canCreateClusters } from '../support/cluster.ts'
import { formatReport } from './report.ts'
import { runCampaign } from './run-campaign.ts'

const help = `npm run suite -- campaign [OPTIONS]

  --seconds N  duration of the faults; recovery and checks follow (default: 600)
  --seed N     a whole number that decides what happens when (default: random)
  --help       print this help
`

const print = (line: string) => void process.stdout.write(`${line}\n`)

function readOptions() {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '600' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
      help: { type: 'boolean', default: false },
    },
  })
  const seconds = Number(values.seconds)
  if (!(seconds > 0 && Number.isFinite(seconds))) throw new Error('--seconds must be a number above 0.')
  if (!/^\d{1,9}$/.test(values.seed)) throw new Error('--seed must be a whole number with at most 9 digits.')
  return { seconds, seed: Number(values.seed), help: values.help }
}

async function main(): Promise<number> {
  let options: ReturnType<typeof readOptions>
  try {
    options = readOptions()
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${help}`)
    return 2
  }
  const { help: isHelp, seconds, seed } = options
  if (isHelp) {
    process.stdout.write(help)
    return 0
  }
  if (!canCreateClusters) {
    process.stderr.write("The campaign needs Debian's package postgresql.\n")
    return 1
  }
  print(`seed ${seed}, ${seconds} s`)
  const summary = await runCampaign({ seconds, seed, print })
  const { problems } = summary
  print(`\n${formatReport(summary)}`)
  for (const problem of problems) print(`PROBLEM: ${problem}`)
  print(`${problems.length === 0 ? 'No problems' : `${problems.length} problems`}; seed ${seed}, ${seconds} s`)
  return problems.length === 0 ? 0 : 1
}

process.exitCode = await main()
