// Composes the supergraph, as CI does before a deployment: no gateway runs for it.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { composeServices, compositionHasErrors } from '@theguild/federation-composition'
import { parse } from 'graphql'
import { typeDefs } from './orders.js'

const root = path.join(import.meta.dirname, '../..')
const fusion = execFileSync('npm', ['run', '--silent', 'fusion', '--', 'schema', '--federation'], { cwd: root })

const result = composeServices([
  {
    name: 'fusion',
    typeDefs: parse(fusion.toString()),
    url: process.env['FUSION_URL'] ?? 'http://127.0.0.1:4000/graphql',
  },
  { name: 'orders', typeDefs: parse(typeDefs), url: process.env['ORDERS_URL'] ?? 'http://127.0.0.1:4401/graphql' },
])
if (compositionHasErrors(result)) {
  for (const { message } of result.errors) process.stderr.write(`${message}\n`)
  process.exit(1)
}
const file = process.env['SUPERGRAPH'] ?? path.join(import.meta.dirname, 'supergraph.graphql')
writeFileSync(file, result.supergraphSdl)
process.stdout.write(`Wrote ${path.basename(file)}\n`)
