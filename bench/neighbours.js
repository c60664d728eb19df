// Measures what other clients see while one attacks: gateways with their default limits, on one database.
import { accidentsIn, attacks } from '../test/attacks/attacks.ts'
import { createNeighbours, observeAttack, startAttacked } from '../test/attacks/neighbours.ts'
import { readOptions } from './options.js'
import { openServer } from './server.js'

const usage = `npm run bench -- neighbours [--try] [--seconds N] [--only TEXT] [--users] [--together]

  --seconds  how long each attack takes (default: 10)
  --only     the attacks whose names contain this text (default: all)
  --users    only the users of a tenant's tokens attack, and the tenant's own server is the other client
  --together one gateway for all attacks, instead of a new one for each
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
`
const options = readOptions(usage, { seconds: '10', only: '', users: false, together: false }, { seconds: '0.5' })

const server = await openServer()
try {
  const url = await server.createDatabase()
  const { attackers, users, server: ownServer, victim } = await createNeighbours({ url, ownerUrl: url, adminUrl: url })
  const clients = options.users ? { attackers: users, victim: ownServer } : { attackers, victim }
  process.stdout.write(
    [
      '| the attackers send | the other client: p50 ms | max ms | not 200 | it repeats: p50 ms | max ms | hits % | /health: p50 ms | max ms | MiB |',
      '|---|---|---|---|---|---|---|---|---|---|',
      '',
    ].join('\n'),
  )
  let gateway
  for (const [name, attack] of Object.entries({ ...attacks, ...accidentsIn(url) })) {
    if (!name.includes(options.only)) continue
    gateway ??= await startAttacked(url)
    const {
      victim: seen,
      kept,
      health,
      memory,
    } = await observeAttack(gateway, clients, attack, Number(options.seconds))
    if (!options.together && !options.try) {
      await gateway.stop('SIGKILL')
      gateway = undefined
    }
    const refused = [seen, kept]
      .flatMap(({ statuses }) => Object.entries(statuses))
      .reduce((sum, [status, count]) => sum + (status === '200' ? 0 : count), 0)
    const numbers = [seen.p50, seen.max, refused, kept.p50, kept.max, kept.hits * 100, health.p50, health.max, memory]
    process.stdout.write(`| ${name} | ${numbers.map((value) => Math.round(value)).join(' | ')} |\n`)
  }
  await gateway?.stop('SIGKILL')
} finally {
  await server.remove()
}
