// Loads two servers in turn, in windows that are so short that the machine is the same for both. In a window each
// connection sends the request again as soon as it is answered. Prints the requests and the seconds of each server as
// JSON. With 0 seconds each connection sends one request.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Pool } from 'undici'

const windowMilliseconds = 150

const { ports, ask, key, seconds, connections } = JSON.parse(readFileSync(0, 'utf8'))
const { method = 'GET', path, body } = ask
const text = body && JSON.stringify(body)
const headers = { 'content-type': 'application/json', ...(key && { 'x-api-key': key }) }
const results = ports.map(() => ({ requests: 0, seconds: 0, failures: 0 }))
const pools = ports.map((port) => new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 }))

/** Resolves with the status when the whole response has arrived, and with 0 if it does not. */
function send(pool) {
  return new Promise((resolve) => {
    let status = 0
    const handler = {
      onRequestStart() {},
      onResponseStart(_controller, statusCode) {
        status = statusCode
      },
      onResponseData() {},
      onResponseEnd: () => resolve(status),
      onResponseError: () => resolve(0),
    }
    pool.dispatch({ method, path, headers, body: text?.replace('[<id>]', () => randomUUID()) }, handler)
  })
}

async function load(index) {
  const begun = performance.now()
  const client = async () => {
    do {
      const status = await send(pools[index])
      results[index].requests += 1
      if (status < 200 || status > 299) results[index].failures += 1
    } while (performance.now() - begun < Math.min(windowMilliseconds, seconds * 1_000))
  }
  await Promise.all(Array.from({ length: connections }, client))
  results[index].seconds += (performance.now() - begun) / 1_000
}

do for (const index of ports.keys()) await load(index)
while (results.some((result) => result.seconds < seconds))
await Promise.all(pools.map((pool) => pool.close()))
process.stdout.write(JSON.stringify(results))
