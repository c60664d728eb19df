import { growthLines } from './growth.js'

/** The targets: at least so many times a peer's requests a second. */
const targets = {
  a: { postgraphile: 1.25, mercurius: 1.5, relation: 4 },
  b: { postgraphile: 1.2, mercurius: 1.2 },
  c: { postgraphile: 1.2, mercurius: 1.2 },
  d: { postgraphile: 1.25, mercurius: 1.5, relation: 4 },
  e: { postgraphile: 1.2, mercurius: 1.2 },
  f: { postgraphile: 1.2, mercurius: 1.2 },
  g: { postgraphile: 1 },
  h: { limit: 0.45, sofa: 3 },
  i: { limit: 0.45, sofa: 3 },
}

/** The number in the middle. */
export function median(numbers) {
  const inOrder = numbers.toSorted((one, other) => one - other)
  return inOrder[Math.floor(inOrder.length / 2)]
}

const of = (runs, key) => median(runs.map((run) => run[key]))
const round = (number, digits = 0) => (Number.isNaN(number) ? '–' : number.toFixed(digits))

/** The report, as Markdown. Ratios are the gateway's requests a second over the peer's, round by round; the median is shown. */
export function writeResults(measured, run) {
  const lines = [
    '# Results',
    '',
    `${run.date}, commit ${run.commit}, on ${run.machine}. ${run.versions.join(', ')}.`,
    '',
    `${run.users.toLocaleString('en')} users × 3 accounts × 1 profile × 2 emails in ten tenants. ${run.rounds} interleaved rounds of`,
    `${run.seconds} s, ${run.connections} connections, one process a peer, no answer cached. CPU is a request's, in milliseconds.`,
    'The ratio is the gateway over the peer, the median of the rounds. The gateway checks an API key (found once in three',
    'seconds), prices each operation, counts the nodes of its answer and logs it; the peers do nothing of that. Its rate limit',
    'is off. To get it again: `npm run bench`.',
    '',
  ]
  for (const [letter, { title, runs, paced, stream, growth }] of Object.entries(measured)) {
    lines.push(`## (${letter}) ${title}`, '')
    if (growth) {
      lines.push(...growthLines(growth), '')
      continue
    }
    if (stream) {
      lines.push(...streamLines(stream), '')
      continue
    }
    lines.push('| | requests/s | p50 ms | p99 ms | CPU server | CPU PostgreSQL | peak MiB | ratio | target |')
    lines.push('|---|---|---|---|---|---|---|---|---|')
    for (const [name, own] of Object.entries(runs)) {
      const ratio = median(runs.gateway.map((one, index) => one.perSecond / own[index].perSecond))
      const target = targets[letter]?.[name]
      const verdict = target === undefined ? '' : `≥ ${target} ${ratio >= target ? '✓' : 'missed'}`
      const cells = [
        ...[name, round(of(own, 'perSecond')), round(of(own, 'p50')), round(of(own, 'p99'))],
        ...[round(of(own, 'serverCpu'), 2), round(of(own, 'databaseCpu'), 2), round(of(own, 'memory'))],
        ...[name === 'gateway' ? '' : `${round(ratio, 2)} ×`, verdict],
      ]
      lines.push(`| ${cells.join(' | ')} |`)
    }
    lines.push('', pacedLine(paced), '')
  }
  return `${lines.join('\n').trim()}\n`
}

function pacedLine({ gateway, limit }) {
  const times = (runs) => median(runs.map(({ p50, p99 }) => p99 / p50))
  const said = (runs) =>
    `p50 ${round(of(runs, 'p50'), 1)} ms, p99 ${round(of(runs, 'p99'), 1)} ms, ${round(times(runs), 1)} times`
  const verdict = times(gateway) <= 4 ? '✓' : 'missed'
  return (
    `At a steady 70 % of its rate (${round(of(gateway, 'rate'))} requests/s) the gateway has ${said(gateway)} (target ≤ 4 ${verdict}); ` +
    `the limit, at 70 % of its own, ${said(limit)}.`
  )
}

function streamLines(rounds) {
  const ratio = median(rounds.map((one) => one.usersPerSecond / one.copiedPerSecond))
  const firstByte = of(rounds, 'firstByte')
  const growth = Math.max(...rounds.map((one) => one.growth))
  return [
    '| | measured | target |',
    '|---|---|---|',
    `| first byte | ${round(firstByte)} ms | < 100 ms ${firstByte < 100 ? '✓' : 'missed'} |`,
    `| users/s | ${round(of(rounds, 'usersPerSecond'))}, ${round(ratio, 2)} × psql's COPY (${round(of(rounds, 'copiedPerSecond'))}) | ≥ 0.4 × ${ratio >= 0.4 ? '✓' : 'missed'} |`,
    `| memory above what it was | ${round(growth)} MiB | ≤ 64 MiB ${growth <= 64 ? '✓' : 'missed'} |`,
  ]
}
