// A client in a thread of its own, which sends a request every 50 ms, however long the responses take. What the test
// does meanwhile does not delay it.
import { Agent, get } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

/** What the client saw. Times are in milliseconds. */
export interface Seen {
  readonly statuses: Readonly<Record<string, number>>
  readonly p50: number
  readonly max: number
}

const { url, key } = workerData as { readonly url: string; readonly key: string | undefined }
const agent = new Agent({ keepAlive: true })
const headers = key === undefined ? {} : { 'x-api-key': key }
const statuses: Record<string, number> = {}
const times: number[] = []
const pending = new Set<Promise<void>>()

function send(): Promise<void> {
  const startedAt = performance.now()
  return new Promise((resolve) => {
    const end = (status: number | string) => {
      statuses[status] = (statuses[status] ?? 0) + 1
      times.push(performance.now() - startedAt)
      resolve()
    }
    get(url, { agent, headers }, (response) => response.resume().once('end', () => end(response.statusCode ?? 0))).once(
      'error',
      ({ message }) => end(message),
    )
  })
}

const timer = setInterval(() => {
  const sent = send().finally(() => pending.delete(sent))
  pending.add(sent)
}, 50)

parentPort?.once('message', async () => {
  clearInterval(timer)
  await Promise.all(pending)
  agent.destroy()
  times.sort((one, other) => one - other)
  const seen: Seen = { statuses, p50: times[Math.floor(times.length / 2)] ?? 0, max: times.at(-1) ?? 0 }
  parentPort?.postMessage(seen)
  parentPort?.close()
})
