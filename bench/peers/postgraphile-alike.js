// PostGraphile 5 with its Amber preset behind Fastify, which does before an operation what the gateway does.
import { grafserv } from 'grafserv/fastify/v5'
import pg from 'pg'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'
import { createFront } from './front.js'

const connectionString = process.env.DATABASE_URL
const app = await createFront(new pg.Pool({ connectionString, max: 2 }))
const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString, schemas: ['public'] })],
  grafserv: { graphiql: false },
})
const served = instance.createServ(grafserv)
await served.addTo(app)
await served.ready?.()
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
process.stdout.write('ready\n')
