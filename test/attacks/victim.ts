// A client in a thread of its own, which sends a request every 50 ms from the first message to the second, however long
// the responses take. What the test does meanwhile does not delay it.
import { Agent, get } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

/** What a client requests: its URLs in turn, the headers of each request, and how often it asks for all beforehand. */
export interface Asked {
  readonly urls: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly beforehand?: number
}

/** What the client saw. Times are in milliseconds. */
export interface Seen {
  readonly statuses: Readonly<Record<string, number>>
  readonly p50: number
  readonly max: number
  /**
   * The part of the responses that came from the memory of the gateway, of those that it looked for there. While checks
   * of the log are slow it looks for none.
   */
  readonly hits: number
}

const { urls, headers, beforehand = 0 } = workerData as Asked
const agent = new Agent({ keepAlive: true })
let statuses: Record<string, number> = {}
let times: number[] = []
let hits = 0
let misses = 0
const pending = new Set<Promise<void>>()

function send(url = ''): Promise<void> {
  const startedAt = performance.now()
  return new Promise((resolve) => {
    const end = (status: number | string, cacheStatus: unknown = '') => {
      statuses[status] = (statuses[status] ?? 0) + 1
      times.push(performance.now() - startedAt)
      if (String(cacheStatus).startsWith('fusion; hit')) hits += 1
      if (String(cacheStatus).startsWith('fusion; fwd=miss')) misses += 1
      resolve()
    }
    get(url, { agent, headers }, (response) =>
      response.resume().once('end', () => end(response.statusCode ?? 0, response.headers['cache-status'])),
    ).once('error', ({ message }) => end(message))
  })
}

for (let round = 0; round < beforehand; round += 1) for (const url of urls) await send(url)
statuses = {}
times = []
hits = 0
misses = 0
parentPort?.postMessage('ready')
await new Promise((resolve) => parentPort?.once('message', resolve))

let number = 0
const timer = setInterval(() => {
  const sent = send(urls[number % urls.length]).finally(() => pending.delete(sent))
  number += 1
  pending.add(sent)
}, 50)

await new Promise((resolve) => parentPort?.once('message', resolve))
clearInterval(timer)
await Promise.all(pending)
agent.destroy()
times.sort((one, other) => one - other)
const seen: Seen = {
  statuses,
  p50: times[Math.floor(times.length / 2)] ?? 0,
  max: times.at(-1) ?? 0,
  hits: hits === 0 ? 0 : hits / (hits + misses),
}
parentPort?.postMessage(seen)
parentPort?.close()
