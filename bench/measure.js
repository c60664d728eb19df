import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { cpuOf, cpuOfPostgresql, peakMemory, resetPeakMemory } from './machine.js'

/** Connections of the load generators. */
export const connections = 16

/**
 * A server under load.
 *
 * `pids` are its processes, if it has several.
 *
 * @typedef {{ port: number, child: import('node:child_process').ChildProcess, key?: string, pids?: number[] }} Server
 * @typedef {import('./cases.js').Ask} Ask
 */

/** Checks that the servers return the same data, and write. @throws if one differs from the first */
export async function checkAnswers(title, asks, servers) {
  let expected
  for (const [name, { pick, popular, ...ask }] of Object.entries(asks)) {
    const send = (request) => sendOnce(`${title}, ${name}`, servers[name], request, popular?.ids[0])
    const data = sortKeys(JSON.parse(JSON.stringify(pick(await send(ask)))))
    expected ??= data
    const show = (value) => JSON.stringify(value).slice(0, 600)
    if (!isDeepStrictEqual(data, expected))
      throw new Error(`${title}: ${name} returns other data:\n${show(data)}\n${show(expected)}`)
    if (!popular) continue
    const written = await send(popular.write)
    if (written.errors) throw new Error(`${title}: ${name} does not write: ${show(written)}`)
    // The next server returns what this one has written.
    expected = sortKeys(JSON.parse(JSON.stringify(pick(await send(ask)))))
    if (isDeepStrictEqual(expected, data)) throw new Error(`${title}: ${name} returns what was there before its write`)
  }
}

/** Sends a request once, with an id in the place of `[<id>]` and `userId` in that of `[<user>]`. */
async function sendOnce(title, { port, key }, { method = 'GET', path: url, body }, userId) {
  const fill = (text) => text.replace('[<id>]', () => randomUUID()).replace('[<user>]', () => userId)
  const response = await fetch(`http://127.0.0.1:${port}${fill(url)}`, {
    method,
    headers: { 'content-type': 'application/json', ...(key && { 'x-api-key': key }) },
    ...(body && { body: fill(JSON.stringify(body)) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${title}: ${response.status} ${text.slice(0, 500)}`)
  return JSON.parse(text)
}

function sortKeys(value) {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const keys = Object.keys(value).sort()
  return Object.fromEntries(keys.map((key) => [key, sortKeys(value[key])]))
}

/**
 * Sends a request as often as the server answers it.
 *
 * @param {Server} server
 * @param {Ask} ask
 * @param {number} seconds
 * @param {number} atOnce requests at the same time
 */
export async function loadServer(
  { port, child, key, pids = [child.pid] },
  { pick: _, isConditional, ...ask },
  seconds,
  atOnce = connections,
) {
  const tag = isConditional && (await readTag(port, key, ask))
  const cpu = () => pids.reduce((sum, pid) => sum + cpuOf(pid), 0)
  resetPeakMemory(child.pid)
  const before = { server: cpu(), database: cpuOfPostgresql() }
  const result = await runLoad('closed-loop.js', { port, ask, key, tag, seconds, connections: atOnce })
  return {
    perSecond: result.requests / result.seconds,
    p50: result.p50,
    p99: result.p99,
    serverCpu: (cpu() - before.server) / result.requests,
    databaseCpu: (cpuOfPostgresql() - before.database) / result.requests,
    memory: peakMemory(child.pid),
  }
}

/**
 * How many responses a gateway has taken from its memory so far, and how many requests have looked for one there; zeros
 * if it counts none. Its metrics are up to a second old.
 *
 * @param {Server} server
 */
export async function readLookups({ port }) {
  await sleep(1_000)
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const counts = [...text.matchAll(/^fusion_response_cache_lookups_total\{outcome="(\w+)"\} (\d+)/gm)]
  const { hit = 0, miss = 0 } = Object.fromEntries(counts.map(([, outcome, count]) => [outcome, Number(count)]))
  return { hits: hit, lookups: hit + miss }
}

/**
 * Sends a request at a steady rate, and measures the latencies.
 *
 * @param {Server} server
 * @param {Ask} ask
 * @param {number} rate requests per second
 * @param {number} seconds
 */
export function paceServer({ port, key }, { pick: _, ...ask }, rate, seconds) {
  return runLoad('open-loop.js', { port, ask, key, rate, seconds, connections })
}

/**
 * Loads two servers in turn, in short windows: what else happens on the machine then happens to both.
 *
 * @param {Record<string, Server>} servers
 * @param {Ask} ask
 * @param {number} seconds of each
 * @returns {Promise<Record<string, { perSecond: number, serverCpu: number }>>} the CPU of each server is per request
 */
export async function loadInTurn(servers, { pick: _, ...ask }, seconds) {
  const names = Object.keys(servers)
  const cpus = () => names.map((name) => cpuOf(servers[name].child.pid))
  const [{ key }] = Object.values(servers)
  const before = cpus()
  const ports = names.map((name) => servers[name].port)
  const results = await runLoad('in-turn.js', { ports, key, ask, seconds, connections })
  const after = cpus()
  const measured = results.map(({ requests, seconds: taken }, index) => ({
    perSecond: requests / taken,
    serverCpu: (after[index] - before[index]) / requests,
  }))
  return Object.fromEntries(names.map((name, index) => [name, measured[index]]))
}

/** The `ETag` of the response to a request. */
async function readTag(port, key, { path: url }) {
  const response = await fetch(`http://127.0.0.1:${port}${url}`, { headers: key && { 'x-api-key': key } })
  await response.arrayBuffer()
  return response.headers.get('etag')
}

async function runLoad(file, job) {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'load', file)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(job))
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  await once(child, 'close')
  const result = JSON.parse(output)
  const failures = [result].flat().reduce((sum, one) => sum + one.failures, 0)
  if (failures > 0) throw new Error(`${failures} requests failed: ${JSON.stringify(job.ask).slice(0, 300)}`)
  return result
}

/** The median. */
export function median(numbers) {
  const sorted = numbers.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)]
}
