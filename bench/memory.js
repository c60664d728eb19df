// Measures what a gateway keeps in memory after load: while clients send requests, when they have stopped, and after a
// full garbage collection.
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryOf } from './machine.js'
import { readOptions } from './options.js'
import { fusionOn, projectRoot, startProcess } from './peer.js'
import { openServer } from './server.js'

const usage = `npm run bench -- memory [--try] [--seconds N]

  --seconds  how long clients send requests (default: 600)
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
`
const options = readOptions(usage, { seconds: '600' }, { seconds: '1' })
const [port, inspector, clients] = [4_700, 4_701, 50]
const idleSeconds = options.try ? [1] : [30, 60, 120]

const accounts =
  'accounts { id platform displayName profile { id username fullName followersCount emails { id value } } }'
const requests = [
  {
    path: '/graphql',
    method: 'POST',
    body: { query: `{ users(first: 100) { nodes { id name email ${accounts} } } }` },
  },
  { path: '/users?limit=5' },
  { path: '/users?limit=100' },
  { path: '/users' },
  { path: '/users', method: 'POST', body: { name: 'Ada', email: 'ada@example.com', phone: '1' } },
]

const server = await openServer()
const url = await server.createDatabase()
const fusion = fusionOn(url)
await fusion('migrate', 'deploy')
await fusion('tenants', 'create', 'Bench')
await fusion('seed', '--tenant', 'Bench', '--users', options.try ? '30' : '3000')
const key = await fusion('keys', 'create', '--tenant', 'Bench')
const gateway = await startProcess(
  'the gateway',
  [`--inspect=127.0.0.1:${inspector}`, `${projectRoot}/src/cli.ts`, 'serve'],
  { DATABASE_URL: url, PORT: String(port), RATE_LIMIT: '0', RESPONSE_CACHE_MIB: '0' },
)
const [{ webSocketDebuggerUrl }] = await (await fetch(`http://127.0.0.1:${inspector}/json`)).json()
const socket = new WebSocket(webSocketDebuggerUrl)
await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }))

/** Calls a method of the inspector. */
function inspect(method, params = {}) {
  socket.send(JSON.stringify({ id: 1, method, params }))
  return new Promise((resolve) => {
    socket.addEventListener('message', ({ data }) => resolve(JSON.parse(data).result), { once: true })
  })
}

async function print(moment) {
  const { usedSize, totalSize } = await inspect('Runtime.getHeapUsage')
  const mebibytes = [memoryOf(gateway.pid), totalSize / 2 ** 20, usedSize / 2 ** 20].map((size) => size.toFixed(0))
  process.stdout.write(`| ${[moment, ...mebibytes].join(' | ')} |\n`)
}

const agent = new http.Agent({ keepAlive: true, maxSockets: clients })

function send({ path, method = 'GET', body }) {
  return new Promise((resolve, reject) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json', 'accept-encoding': 'br, gzip' }
    const request = http.request({ port, path, method, headers, agent }, (response) => {
      response.resume().on('end', resolve).on('error', reject)
    })
    request.on('error', reject).end(body && JSON.stringify(body))
  })
}

async function load(seconds) {
  const until = performance.now() + seconds * 1_000
  const client = async (_, index) => {
    for (let turn = index; performance.now() < until; turn += 1) await send(requests[turn % requests.length])
  }
  await Promise.all(Array.from({ length: clients }, client))
}

try {
  process.stdout.write('| | resident MiB | heap MiB | heap used, MiB |\n|---|---|---|---|\n')
  await print('at the start')
  await load(Number(options.seconds))
  await print(`after ${options.seconds} s of load`)
  let idle = 0
  for (const seconds of idleSeconds) {
    await sleep((seconds - idle) * 1_000)
    idle = seconds
    await print(`${seconds} s later`)
  }
  await inspect('HeapProfiler.collectGarbage')
  await print('after a full garbage collection')
} finally {
  gateway.kill('SIGKILL')
  await server.remove()
}
process.exit()
