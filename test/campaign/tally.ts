import type { Condition } from './faults/conditions.ts'

/** How often something happened, and the longest time until the gateways answered again. */
export interface HappeningCounts {
  count: number
  /** How many gateways recovered while there was no other fault. */
  recoveries: number
  maxRecoveryMilliseconds: number
}

/** What happened and what the clients saw. */
export interface Tally {
  readonly faults: Map<string, HappeningCounts>
  readonly attacks: Map<string, HappeningCounts>
  /** How often each status was seen, by what was going on. */
  readonly statuses: Map<Condition | 'hostile', Map<string, number>>
  countHappening(kind: 'faults' | 'attacks', name: string): HappeningCounts
  countStatus(seenBy: Condition | 'hostile', status: string, times?: number): void
}

export function createTally(): Tally {
  const faults = new Map<string, HappeningCounts>()
  const attacks = new Map<string, HappeningCounts>()
  const statuses = new Map<Condition | 'hostile', Map<string, number>>()
  return {
    faults,
    attacks,
    statuses,
    countHappening(kind, name) {
      const counted = kind === 'faults' ? faults : attacks
      const counts = counted.get(name) ?? { count: 0, recoveries: 0, maxRecoveryMilliseconds: 0 }
      counted.set(name, counts)
      counts.count += 1
      return counts
    },
    countStatus(seenBy, status, times = 1) {
      const counted = statuses.get(seenBy) ?? new Map<string, number>()
      statuses.set(seenBy, counted)
      counted.set(status, (counted.get(status) ?? 0) + times)
    },
  }
}

/** Statuses and errors that only a fault explains. */
const disturbed = /SERVICE_UNAVAILABLE|RATE_LIMITED|^5|^E|^UND_ERR/

/** The responses of well-behaved clients that no fault explains: hostile neighbours must not cause them. */
export function findUnexplained({ statuses }: Tally): string[] {
  const conditions: Condition[] = ['without faults', 'under attack']
  return conditions.flatMap((condition) =>
    [...(statuses.get(condition) ?? [])]
      .filter(([status]) => disturbed.test(status))
      .map(([status, count]) => `clients got ${count} times ${status} from a gateway ${condition}`),
  )
}

/** The number of requests of well-behaved clients. */
export function requestsOf({ statuses }: Tally): number {
  const seen = [...statuses].flatMap(([seenBy, counts]) => (seenBy === 'hostile' ? [] : [...counts.values()]))
  return seen.reduce((sum, count) => sum + count, 0)
}
