// Measures what compressing responses costs: CPU of the gateway and bytes for each encoding, in interleaved rounds.
import { once } from 'node:events'
import http from 'node:http'
import { buffer } from 'node:stream/consumers'
import { cpuOf } from './machine.js'
import { median } from './measure.js'
import { readOptions } from './options.js'
import { fusionOn, startGateway } from './peer.js'
import { openServer } from './server.js'

const usage = `npm run bench -- compression [--try] [--rounds N] [--seconds N]

  --rounds   how often each is measured (default: 5)
  --seconds  how long each time (default: 2)
  DATABASE_URL names a PostgreSQL server, as a user who may create databases. Without it one is started.
`
const options = readOptions(usage, { rounds: '5', seconds: '2' }, { rounds: '1', seconds: '0.2' })
const rounds = Number(options.rounds)
const secondsPerRound = Number(options.seconds)
const port = 4_600
const atOnce = 4

const profile =
  'id username url fullName displayName description profilePictureUrl category country followersCount joinedAt'
const requests = {
  '20 KiB': { path: '/users?limit=25' },
  '1 MiB': {
    path: '/graphql',
    method: 'POST',
    body: `{ users(first: 365) { nodes { id name email phone createdAt accounts {
      id platform platformAccountId displayName profile { ${profile} emails { id value type isVerified createdAt } } } } } }`,
  },
}
const encodings = ['identity', 'gzip', 'br']

const server = await openServer()
const url = await server.createDatabase()
const fusion = fusionOn(url)
await fusion('migrate', 'deploy')
await fusion('tenants', 'create', 'Bench')
await fusion('seed', '--tenant', 'Bench', '--users', '500')
const key = await fusion('keys', 'create', '--tenant', 'Bench')
const gateway = await startGateway('the gateway', { url, port })
const agent = new http.Agent({ keepAlive: true, maxSockets: atOnce })

/**
 * Sends a request again and again. Returns the bytes of a response, and milliseconds of CPU and of waiting per request.
 */
async function load({ path, method = 'GET', body }, encoding) {
  const headers = { 'x-api-key': key, 'content-type': 'application/json', 'accept-encoding': encoding }
  const startedAt = performance.now()
  const cpu = cpuOf(gateway.pid)
  let sent = 0
  let bytes = 0
  const send = async () => {
    while (performance.now() - startedAt < secondsPerRound * 1_000) {
      const request = http.request({ port, path, method, headers, agent }).end(body && JSON.stringify({ query: body }))
      const [response] = await once(request, 'response')
      bytes = (await buffer(response)).length
      if (response.statusCode !== 200) throw new Error(`the status is ${response.statusCode}`)
      sent += 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, send))
  return {
    bytes,
    cpu: (cpuOf(gateway.pid) - cpu) / sent,
    wait: ((performance.now() - startedAt) * atOnce) / sent,
  }
}

try {
  process.stdout.write('| response | encoding | KiB | CPU ms | ms at 4 at a time |\n|---|---|---|---|---|\n')
  for (const [name, request] of Object.entries(requests)) {
    const runs = Object.fromEntries(encodings.map((encoding) => [encoding, []]))
    for (let round = 0; round <= rounds; round += 1) {
      for (const encoding of encodings) runs[encoding].push(await load(request, encoding))
    }
    for (const encoding of encodings) {
      // The first round warms up.
      const of = (number) => median(runs[encoding].slice(1).map((run) => run[number]))
      const numbers = [(of('bytes') / 1024).toFixed(0), of('cpu').toFixed(2), of('wait').toFixed(1)]
      process.stdout.write(`| ${name} | ${encoding} | ${numbers.join(' | ')} |\n`)
    }
  }
} finally {
  gateway.kill('SIGKILL')
  await once(gateway, 'exit')
  await server.remove()
}
