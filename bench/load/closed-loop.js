// A load generator in a process of its own. Each connection sends the request again as soon as it is answered. Prints
// the result as JSON. With 0 seconds each connection sends one request.
import { randomUUID } from 'node:crypto'
import autocannon from 'autocannon'

const { port, ask, key, seconds, connections } = JSON.parse(process.argv[2])
const { method = 'GET', path, body } = ask
const text = JSON.stringify(body ?? null)
const result = await autocannon({
  url: `http://127.0.0.1:${port}`,
  connections,
  ...(seconds > 0 ? { duration: seconds } : { amount: connections }),
  requests: [
    {
      method,
      path,
      headers: { 'content-type': 'application/json', ...(key && { 'x-api-key': key }) },
      ...(body && { body: text }),
      ...(text.includes('[<id>]') && {
        setupRequest: (request) => ({ ...request, body: text.replace('[<id>]', randomUUID()) }),
      }),
    },
  ],
})
process.stdout.write(
  JSON.stringify({
    requests: result.requests.total,
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    failures: result.non2xx + result.errors + result.timeouts,
  }),
)
