import { megabytes } from '../soak/run-soak.ts'
import type { CampaignSummary } from './run-campaign.ts'
import type { HappeningCounts } from './tally.ts'

/** The numbers of a campaign as tables for people. */
export function formatReport(summary: CampaignSummary): string {
  const { counts, refused, tally, reads, follows, attempts, memory, heaps, requestsPerSecond } = summary
  const writes = Object.entries(counts).map(([kind, { sent, requests, acknowledged, rejected, found }]) => [
    kind,
    sent,
    requests,
    acknowledged,
    rejected,
    found,
  ])
  const happenings = (counted: ReadonlyMap<string, HappeningCounts>) =>
    [...counted].toSorted(([one], [other]) => (one < other ? -1 : 1))
  const faults = happenings(tally.faults).map(([name, { count, recoveries, maxRecoveryMilliseconds }]) => [
    name,
    count,
    recoveries,
    recoveries > 0 ? `${(maxRecoveryMilliseconds / 1_000).toFixed(1)} s` : '–',
  ])
  const statuses = [...tally.statuses].map(([seenBy, seen]) => {
    const list = [...seen].toSorted(([, one], [, other]) => other - one)
    return [seenBy, list.map(([status, count]) => `${status} (${count})`).join(', ')]
  })
  return [
    table(['writes', 'sent', 'requests', 'acknowledged', 'rejected', 'found'], writes),
    `reads: ${reads.sent} sent, ${reads.answered} answered`,
    `users whose creation was answered with 503: ${refused.sent}, of which ${refused.found} were found`,
    `jobs: ${attempts} attempts; ${follows.begun} followed, ${follows.ended} to their end`,
    `${requestsPerSecond.toFixed(1)} requests per second\n`,
    table(['faults', 'count', 'recoveries', 'slowest recovery'], faults),
    table(
      ['attacks', 'count'],
      happenings(tally.attacks).map(([name, { count }]) => [name, count]),
    ),
    table(['seen by clients', 'responses'], statuses),
    table(
      ['memory', 'peak MiB'],
      memory.map(({ name, peak }) => [name, peak]),
    ),
    `used heap of the gateways at the end: ${heaps.map(megabytes).join(', ')}\n`,
  ].join('\n')
}

/** Numbers are aligned to the right. */
function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const widths = head.map((cell, column) => Math.max(cell.length, ...rows.map((row) => String(row[column]).length)))
  const format = (line: readonly (string | number)[]) =>
    line.map((cell, column) => {
      const width = widths[column] ?? 0
      return typeof rows[0]?.[column] === 'number' ? String(cell).padStart(width) : String(cell).padEnd(width)
    })
  return `${[head, ...rows].map((line) => format(line).join('  ').trimEnd()).join('\n')}\n`
}
