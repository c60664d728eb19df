// PostGraphile 5 with its Amber preset, started as its documentation shows.
import { createServer } from 'node:http'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { grafserv } from 'postgraphile/grafserv/node'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'

const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: process.env.DATABASE_URL, schemas: ['public'] })],
  grafserv: { graphiql: false },
})
const server = createServer()
const served = instance.createServ(grafserv)
await served.addTo(server)
await served.ready()
server.listen(Number(process.env.PORT), '127.0.0.1', () => process.stdout.write('ready\n'))
