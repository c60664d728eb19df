// Reads a hostile feed in a thread with the limits of `fetch_content`, and prints the outcome as JSON. It is a process
// of its own, because a thread that exceeds its memory within one call of the engine ends the process.
import { once } from 'node:events'
import { setInterval } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { inputs } from './inputs.js'
import { createReader } from './readers.js'

const cpuSeconds = 10

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: process.argv.slice(2),
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  })
  const outcome = await Promise.race([once(worker, 'message').then(([message]) => message), exceedCpu(worker)]).catch(
    ({ code }) => ({ outcome: code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory limit' : String(code) }),
  )
  await worker.terminate()
  process.stdout.write(JSON.stringify({ ...outcome, mib: Math.round(process.resourceUsage().maxRSS / 1024) }))
  process.exit()
} else {
  const [name, packages, input] = workerData
  const read = await createReader(name, packages)
  const text = inputs[input]()
  const before = process.threadCpuUsage()
  const outcome = await attempt(() => read(text))
  const { user, system } = process.threadCpuUsage(before)
  parentPort.postMessage({ outcome, seconds: (user + system) / 1e6 })
}

async function exceedCpu(worker) {
  for await (const _ of setInterval(250)) {
    // A thread that has just ended has no usage. Its own event says why it ended.
    const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }))
    if (user + system > cpuSeconds * 1e6) return { outcome: 'CPU limit' }
  }
}

async function attempt(read) {
  try {
    const { items } = await read()
    const longest = Math.max(0, ...items.slice(0, 1_000).map(({ id, link }) => String(id ?? link ?? '').length))
    return `${items.filter(({ id, link }) => id ?? link).length} ids${longest > 100_000 ? `, one of ${longest} characters` : ''}`
  } catch {
    return 'refused'
  }
}
