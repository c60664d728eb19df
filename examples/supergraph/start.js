// Starts the orders and a router: Hive Gateway, or @apollo/gateway with `npm start apollo`. The gateway runs with FEDERATION=on, and API_KEY is a key of it.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { startOrders } from './orders.js'
import { page } from './page.js'

const url = process.env['FUSION_URL'] ?? 'http://127.0.0.1:4000/graphql'
const ordersUrl = process.env['ORDERS_URL'] ?? 'http://127.0.0.1:4401/graphql'
const routerPort = process.env['ROUTER_PORT'] ?? '4400'
const port = Number(process.env['PORT'] ?? '4402')
const apiKey = process.env['API_KEY']
if (!apiKey) {
  process.stderr.write('Set API_KEY to a key of the gateway.\n')
  process.exit(2)
}

// Orders of users that exist.
const response = await fetch(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
  body: JSON.stringify({ query: '{ users(first: 5) { nodes { id accounts { platform platformAccountId } } } }' }),
})
const { data, errors } = await response.json()
if (!data?.users) throw new Error(`The gateway answered ${response.status}: ${JSON.stringify(errors)}`)
const orders = data.users.nodes.flatMap(({ id, accounts }, index) =>
  [1, 2].map((number) => ({
    id: `order-${index}-${number}`,
    total: 1_000 * (index + number),
    buyerId: id,
    account: accounts[0] ?? null,
  })),
)
await startOrders(orders, Number(new URL(ordersUrl).port))

createServer(async (request, reply) => {
  if (request.method === 'GET') return reply.setHeader('content-type', 'text/html; charset=utf-8').end(page)
  // The page of this example asks through this server, which holds the key.
  const answer = await fetch(`http://127.0.0.1:${routerPort}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
    body: request,
    duplex: 'half',
  })
  reply.setHeader('content-type', 'application/json').end(await answer.text())
}).listen(port, '127.0.0.1', () => process.stdout.write(`Orders of creators: http://127.0.0.1:${port}/\n`))

const [command, ...args] =
  process.argv[2] === 'apollo'
    ? ['node', 'apollo-gateway.js']
    : ['node_modules/.bin/hive-gateway', 'supergraph', '--host', '127.0.0.1', '--port', routerPort]
const router = spawn(command, args, { stdio: 'inherit' })
router.on('exit', (code) => process.exit(code ?? 1))
