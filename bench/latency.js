import { startDelay } from './delay.js'
import { loadServer, median } from './measure.js'

/**
 * Case (l): case (a) with PostgreSQL 1 ms away. Medians of the rounds' p50 in milliseconds, for 1 and for 16
 * connections.
 */
export async function measureLatency({ url, asks, key, start, rounds, seconds }) {
  const delay = await startDelay(url, 1)
  const servers = {}
  try {
    for (const name of ['gateway', 'mercurius', 'mercurius-alike', 'postgraphile']) {
      servers[name] = { ...(await start(name, delay.url)), key }
    }
    const rows = []
    for (const connections of [1, 16]) {
      const times = Object.fromEntries(Object.keys(servers).map((name) => [name, []]))
      if (seconds > 0) {
        for (const name of Object.keys(servers)) await loadServer(servers[name], asks[name], 1, connections)
      }
      for (let round = 0; round < rounds; round += 1) {
        for (const name of Object.keys(servers)) {
          times[name].push((await loadServer(servers[name], asks[name], seconds, connections)).p50)
        }
      }
      const ratioTo = (name) => median(times.gateway.map((time, index) => time / times[name][index]))
      for (const name of Object.keys(servers)) {
        rows.push({
          connections,
          name,
          p50: median(times[name]),
          ratio: name === 'gateway' ? undefined : ratioTo(name),
        })
      }
    }
    return rows
  } finally {
    for (const { child } of Object.values(servers)) child.kill('SIGKILL')
    delay.close()
  }
}

/** The table of case (l). */
export function latencyLines(rows) {
  return [
    '| connections | server | p50 ms | gateway / peer | target |',
    '|---|---|---|---|---|',
    ...rows.map(({ connections, name, p50, ratio }) => {
      const hasTarget = name === 'mercurius' && connections === 1
      const verdict = hasTarget ? `≤ 0.5 ${ratio <= 0.5 ? '✓' : 'missed'}` : ''
      return `| ${connections} | ${name} | ${p50.toFixed(1)} | ${ratio === undefined ? '' : `${ratio.toFixed(2)} ×`} | ${verdict} |`
    }),
  ]
}
