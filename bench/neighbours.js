// Measures what other clients see while one attacks: a new gateway with its default limits for each attack, on one database.
import { parseArgs } from 'node:util'
import { attacks } from '../test/support/attacks.ts'
import { createNeighbours, observeAttack, startAttacked } from '../test/support/neighbours.ts'
import { openServer } from './server.js'

const usage = `npm run bench:neighbours -- [--seconds N] [--only TEXT]

  --seconds  how long each attack takes (default: 10)
  --only     the attacks whose names contain this text (default: all)
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
`
const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    only: { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  process.stdout.write(usage)
  process.exit(0)
}

const server = await openServer()
try {
  const url = await server.createDatabase()
  const neighbours = await createNeighbours({ url, ownerUrl: url, adminUrl: url })
  process.stdout.write(
    '| one client sends | another tenant: p50 ms | max ms | not 200 | /health: p50 ms | max ms | MiB |\n|---|---|---|---|---|---|---|\n',
  )
  for (const [name, attack] of Object.entries(attacks)) {
    if (!name.includes(options.only)) continue
    const gateway = await startAttacked(url)
    const { victim, health, memory } = await observeAttack(gateway, neighbours, attack, Number(options.seconds))
    await gateway.stop('SIGKILL')
    const refused = Object.entries(victim.statuses).reduce(
      (sum, [status, count]) => sum + (status === '200' ? 0 : count),
      0,
    )
    const numbers = [victim.p50, victim.max, refused, health.p50, health.max, memory].map((value) => Math.round(value))
    process.stdout.write(`| ${name} | ${numbers.join(' | ')} |\n`)
  }
} finally {
  await server.remove()
}
