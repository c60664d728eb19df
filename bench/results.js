import { median } from './measure.js'

const nested = { 'mercurius-alike': 1.5, 'postgraphile-alike': 1.8, cpu: 1.25 }
const flat = { 'mercurius-alike': 1.2, 'postgraphile-alike': 1.6, cpu: 1.3 }
const small = { 'mercurius-alike': 1.2, 'postgraphile-alike': 2, cpu: 1.8 }
const write = { 'mercurius-alike': 1, 'postgraphile-alike': 1.3, cpu: 1.6 }
/**
 * The gateway's requests/s divided by a peer's, at least; and its CPU and PostgreSQL's together, divided by those of
 * the limit, at most. CPU is steadier than requests/s where all programs share two cores.
 */
const targets = {
  a: nested,
  b: small,
  c: flat,
  d: nested,
  e: flat,
  f: small,
  g: write,
  h: small,
  i: nested,
  m: nested,
  q: { 'mercurius-alike': 2 },
  r: { 'mercurius-alike': 4, cpu: 0.3 },
  s: { 'mercurius-alike': 15, cpu: 0.1 },
}

const of = (runs, key) => median(runs.map((run) => run[key]))
/** A dash stands for what the run could not measure, such as the CPU time of processes that ended meanwhile. */
const round = (number, digits = 0) => (Number.isFinite(number) && number >= 0 ? number.toFixed(digits) : '–')

/** The CPU of a request: of the server and of PostgreSQL. */
const cpuOf = ({ serverCpu, databaseCpu }) => serverCpu + databaseCpu

const verdict = (sign, target, isMet) => `${sign} ${target} ${isMet ? '✓' : 'missed'}`
const atLeast = (ratio, target) =>
  target === undefined || !Number.isFinite(ratio) ? '' : verdict('≥', target, ratio >= target)
const atMost = (ratio, target) =>
  target === undefined || !Number.isFinite(ratio) ? '' : verdict('≤', target, ratio <= target)

/**
 * Formats the report as Markdown. A ratio is the gateway's requests/s divided by the peer's: the median of the rounds.
 */
export function writeResults(measured, run) {
  const lines = [
    '# Results',
    '',
    `${run.date}, commit ${run.commit}, on ${run.machine}. ${run.versions.join(', ')}.`,
    '',
    `${run.users.toLocaleString('en')} users × 3 accounts × 1 profile × 2 emails in ten tenants. ${run.rounds} interleaved rounds of`,
    `${run.seconds} s, ${run.connections} connections, one process per server. CPU is in milliseconds per request.`,
    "The ratio is the gateway's requests/s divided by the peer's, as the median of the rounds. The gateway checks an API key",
    '(read once in three seconds), computes the cost of each operation, counts the nodes of its response and logs it. The peers named alike do',
    'this too: API key, rate limit, log, depth and cost. The others do none of it.',
    'Its rate limit is off. × limit is the CPU of a server and of PostgreSQL together, divided by those of the limit, which only executes a',
    'statement that was written by hand and writes its result. To repeat the run: `npm run bench`.',
    '',
    'In (a) to (o) the gateway reads for every request: it runs with `RESPONSE_CACHE_MIB=0`, and not with `Cache-Control: no-cache` in its requests, which those of the peers do not have.',
    'In (q) to (t) it runs with the default: it sends a response again if nothing that concerns it has changed, which it asks the database before each use',
    '([caching.md](../docs/caching.md)). The peers, the limit and gateway-reads, which is the gateway with `RESPONSE_CACHE_MIB=0`, read each time. In (q) all servers write to the',
    'same rows, in turn, and the users that are written are chosen as those that are read.',
    '',
  ]
  for (const [letter, { title, runs, paced, stream, table, kept }] of Object.entries(measured)) {
    lines.push(`## (${letter}) ${title}`, '')
    if (table) {
      lines.push(...table, '')
      continue
    }
    if (stream) {
      lines.push(...streamLines(stream), '')
      continue
    }
    lines.push('| | requests/s | p50 ms | p99 ms | CPU server | CPU PostgreSQL | × limit | peak MiB | ratio | target |')
    lines.push('|---|---|---|---|---|---|---|---|---|---|')
    for (const [name, own] of Object.entries(runs)) {
      const isGateway = name === 'gateway'
      const ratio = median(runs.gateway.map((one, index) => one.perSecond / own[index].perSecond))
      const cpu = runs.limit && median(own.map((one, index) => cpuOf(one) / cpuOf(runs.limit[index])))
      const target = targets[letter]?.[isGateway ? 'cpu' : name]
      const cells = [
        name,
        round(of(own, 'perSecond')),
        round(of(own, 'p50')),
        round(of(own, 'p99')),
        round(of(own, 'serverCpu'), 2),
        round(of(own, 'databaseCpu'), 2),
        round(cpu, 2),
        round(of(own, 'memory')),
        isGateway ? '' : `${round(ratio, 2)} ×`,
        isGateway ? atMost(cpu, target) : atLeast(ratio, target),
      ]
      lines.push(`| ${cells.join(' | ')} |`)
    }
    lines.push('', ...(paced ? [pacedLine(paced), ''] : []), ...(kept ? [keptLine(kept), ''] : []))
  }
  return `${lines.join('\n').trim()}\n`
}

function pacedLine({ gateway, limit }) {
  const times = (runs) => median(runs.map(({ p50, p99 }) => p99 / p50))
  const describe = (runs) =>
    `p50 ${round(of(runs, 'p50'), 1)} ms and p99 ${round(of(runs, 'p99'), 1)} ms, a factor of ${round(times(runs), 1)}`
  return (
    `At a steady 70 % of its rate (${round(of(gateway, 'rate'))} requests/s) the gateway has ${describe(gateway)} ` +
    `(target ${atMost(times(gateway), 4)}); the limit, at 70 % of its own rate, ${describe(limit)}.`
  )
}

function keptLine({ hits, lookups }) {
  const part = round((hits / lookups) * 100)
  return `${part} % of the gateway's responses to reads came from memory, warm-up included (${hits.toLocaleString('en')} of ${lookups.toLocaleString('en')}).`
}

function streamLines(rounds) {
  const ratio = median(rounds.map((one) => one.usersPerSecond / one.copiedPerSecond))
  const firstByte = of(rounds, 'firstByte')
  const growth = Math.max(...rounds.map((one) => one.growth))
  return [
    '| | measured | target |',
    '|---|---|---|',
    `| first byte | ${round(firstByte)} ms | < 100 ms ${firstByte < 100 ? '✓' : 'missed'} |`,
    `| users/s | ${round(of(rounds, 'usersPerSecond'))}, ${round(ratio, 2)} × psql's COPY (${round(of(rounds, 'copiedPerSecond'))}) | ≥ 0.8 × ${ratio >= 0.8 ? '✓' : 'missed'} |`,
    `| growth of memory | ${round(growth)} MiB | ≤ 64 MiB ${growth <= 64 ? '✓' : 'missed'} |`,
  ]
}
