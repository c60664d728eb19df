// Compares a gateway of two processes with one process. Each process may use a part of a core, so that PostgreSQL and
// the load generator have the rest of the machine to themselves, as on machines of their own.
import { once } from 'node:events'
import { createCases } from './cases.js'
import { createCpuGroup, processesOf } from './machine.js'
import { checkAnswers, loadServer, median } from './measure.js'
import { readOptions } from './options.js'
import { startGateway } from './peer.js'
import { seedDatabase } from './seed.js'
import { openServer } from './server.js'

const usage = `npm run bench -- processes [--try] [--only CASES] [--rounds N] [--seconds N] [--share CORES]

  --only     some of the cases abcdefghi (default: abfh)
  --share    the part of a core that each process may use (default: 0.25). The supervisor uses of the parts of both
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
  Needs Linux and root, to limit CPU time by cgroups.
`
const options = readOptions(
  usage,
  { only: 'abfh', rounds: '9', seconds: '3', share: '0.25' },
  { rounds: '1', seconds: '0', share: '1' },
)
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
const share = Number(options.share)
const warmUpSeconds = options.try ? 0 : 10
const atOnce = 32
const log = (text) => process.stderr.write(`${text}\n`)

/** Points are counted, and there are enough of them. */
const rateLimit = 1e12
const candidates = {
  one: { processes: 1, port: 14_340, rateLimit },
  two: { processes: 2, port: 14_341, rateLimit },
  uncounted: { processes: 2, port: 14_342, rateLimit: 0 },
}

const server = await openServer()
const gateways = {}
try {
  const url = await server.createDatabase()
  const seeded = await seedDatabase(url, {
    ...(options.try ? { users: 200, tenants: 2, manyUsers: 10 } : { users: 5_000, manyUsers: 1_000 }),
    log,
  })
  for (const [name, candidate] of Object.entries(candidates)) gateways[name] = await start(name, { ...candidate, url })
  for (const gateway of Object.values(gateways)) gateway.key = seeded.keys.tenant
  const rows = []
  const cases = createCases(seeded)
  for (const letter of options.only) {
    const { title, gateway: ask } = cases[letter]
    await checkAnswers(title, { one: ask, two: ask, uncounted: ask }, gateways)
    rows.push(row(`(${letter}) ${title}`, await interleave(ask)))
  }
  process.stdout.write(
    [
      `Medians of ${rounds} interleaved rounds of ${seconds} s with ${atOnce} connections; each process may use ${share} of a core.`,
      'CPU is that of all processes of the gateway per request, and, in parentheses, the part of their limit that they used.',
      '',
      '| case | one process | two processes | ratio | two, points not counted | ratio |',
      '|---|---|---|---|---|---|',
      ...rows,
      '',
    ].join('\n'),
  )
} finally {
  for (const { child, group } of Object.values(gateways)) {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
    group.remove()
  }
  await server.remove()
}

async function start(name, { processes, ...candidate }) {
  const child = await startGateway(name, { ...candidate, args: ['--processes', String(processes)] })
  const pids = processesOf(child.pid)
  const cores = processes * share
  log(`started ${name}`)
  const group = options.try ? { limit() {}, remove() {} } : createCpuGroup(`fusion_bench_${child.pid}`, pids)
  return { port: candidate.port, child, pids, cores, group }
}

/** Measures all gateways in turn. Each round begins with another one. */
async function interleave(ask) {
  const names = Object.keys(gateways)
  const runs = Object.fromEntries(names.map((name) => [name, []]))
  // Without a limit, because with a part of a core it takes minutes until the code is optimised.
  for (const name of names) {
    const { group, cores } = gateways[name]
    group.limit(undefined)
    await loadServer(gateways[name], ask, warmUpSeconds, atOnce)
    group.limit(cores)
  }
  for (let round = 0; round < rounds; round += 1) {
    for (let index = 0; index < names.length; index += 1) {
      const name = names[(round + index) % names.length]
      runs[name].push(await loadServer(gateways[name], ask, seconds, atOnce))
    }
  }
  return runs
}

function row(title, runs) {
  const show = (name) => {
    const rate = median(runs[name].map(({ perSecond }) => perSecond))
    const cpu = median(runs[name].map(({ serverCpu }) => serverCpu))
    const used = median(
      runs[name].map(({ perSecond, serverCpu }) => (perSecond * serverCpu) / 1_000 / gateways[name].cores),
    )
    return `${Math.round(rate)} requests/s, ${cpu.toFixed(2)} ms (${Math.round(used * 100)} %)`
  }
  const ratio = (name) => median(runs[name].map((run, index) => run.perSecond / runs.one[index].perSecond)).toFixed(2)
  const text = `| ${title} | ${show('one')} | ${show('two')} | ${ratio('two')} | ${show('uncounted')} | ${ratio('uncounted')} |`
  log(text)
  return text
}
