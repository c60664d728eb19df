// A load generator in a process of its own. Each connection sends the request again as soon as it is answered. Prints
// the result as JSON. With 0 seconds each connection sends one request.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'
import { createZipf } from './zipf.js'

const { port, ask, key, tag, seconds, connections } = JSON.parse(readFileSync(0, 'utf8'))
const { popular } = ask
const headers = {
  'content-type': 'application/json',
  ...(key && { 'x-api-key': key }),
  ...(tag && { 'if-none-match': tag }),
}

/** The request of an ask, with placeholders. */
const requestOf = ({ method = 'GET', path, body }) => ({ method, path, body: body && JSON.stringify(body) })

/** Returns a function that puts new ids and popular users into the places of a request. */
function createFill() {
  const read = requestOf(ask)
  const write = popular && requestOf(popular.write)
  const choose = popular && createZipf(popular.ids)
  return () => {
    const request = popular && Math.random() < popular.writes ? write : read
    const user = choose?.()
    const fill = (text) => text?.replace('[<id>]', () => randomUUID()).replace('[<user>]', () => user)
    return { ...request, path: fill(request.path), body: fill(request.body) }
  }
}

const { body, ...request } = requestOf(ask)
const fill = popular || body?.includes('[<id>]') ? createFill() : undefined
const result = await autocannon({
  url: `http://127.0.0.1:${port}`,
  connections,
  // A run ends with a sample of autocannon, which by default takes one each second.
  ...(seconds > 0 ? { duration: seconds } : { amount: connections, sampleInt: 10 }),
  requests: [
    {
      ...request,
      headers,
      ...(body && { body }),
      ...(fill && { setupRequest: (one) => ({ ...one, ...fill() }) }),
    },
  ],
})
const answered = ['1xx', '2xx', '3xx', '4xx', '5xx'].reduce((sum, status) => sum + result[status], 0)
process.stdout.write(
  JSON.stringify({
    requests: result.requests.total,
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    // A client that names the tag of the response has it already.
    failures: answered - result[tag ? '3xx' : '2xx'] + result.errors + result.timeouts,
  }),
)
