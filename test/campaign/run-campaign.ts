import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../src/domain/seed/seed.ts'
import { runChecks, type Usage } from './checks/run-checks.ts'
import { untilJobsEnd } from './checks/until-jobs-end.ts'
import { untilWorkersWork } from './checks/until-workers-work.ts'
import { createConditions } from './faults/conditions.ts'
import { createLanes } from './faults/lanes.ts'
import { type Lane, type PlannedEvent, planLane } from './faults/plan.ts'
import { untilRecovered } from './faults/recovery.ts'
import { createLedger, formatCounts, type Ledger } from './ledger.ts'
import { type Load, startLoad } from './load/start-load.ts'
import { startSystem } from './processes/start-system.ts'
import { createTally, findUnexplained, requestsOf, type Tally } from './tally.ts'

export interface CampaignOptions {
  /** How long there are faults and attacks. Recovery and checks follow. */
  readonly seconds: number
  /** Decides what happens when. */
  readonly seed: number
  readonly print: (line: string) => void
}

export interface CampaignSummary extends Usage, Pick<Ledger, 'counts' | 'refused'>, Pick<Load, 'reads' | 'follows'> {
  readonly tally: Tally
  readonly requestsPerSecond: number
  /** Descriptions of the problems. Empty if there were none. */
  readonly problems: readonly string[]
}

const progressMilliseconds = 30_000

/** Runs random faults and hostile clients together against two gateways and two workers, and checks what is left. */
export async function runCampaign({ seconds, seed, print }: CampaignOptions): Promise<CampaignSummary> {
  const problems = new Set<string>()
  const note = (problem: string) => {
    if (!problems.has(problem)) print(`PROBLEM: ${problem}`)
    problems.add(problem)
  }
  const system = await startSystem(note)
  try {
    const { cluster, neighbours, tenants, gateways, workers } = system
    const addresses = gateways.map(({ address }) => address)
    const conditions = createConditions(gateways.length)
    const tally = createTally()
    const ledger = createLedger()
    const recovery = { gateways: addresses, key: neighbours.victim, note }
    const startedAt = performance.now()
    const elapsed = () => (performance.now() - startedAt) / 1_000
    const printAt = (line: string) => print(`${elapsed().toFixed(1).padStart(6)} s  ${line}`)
    const clientOptions = { gateways: addresses, conditions, count: tally.countStatus, note, print: printAt }
    const { attackers } = neighbours
    const lanes = createLanes({ ...recovery, cluster, gateways, workers, attackers, conditions, tally, print: printAt })

    const load = startLoad({ ...clientOptions, tenants, ledger, seed })
    const reporting = setInterval(() => printAt(formatCounts(ledger)), progressMilliseconds).unref()
    await Promise.all([...planAll(lanes, seconds, seed).map(follow), sleep(seconds * 1_000)])

    printAt('no more faults')
    for (const gateway of gateways.keys()) await untilRecovered(recovery, gateway)
    for (const problem of await untilWorkersWork(cluster.url, workers)) note(problem)
    await load.stopWriting()
    const requestsPerSecond = requestsOf(tally) / elapsed()
    clearInterval(reporting)
    for (const problem of await untilJobsEnd(cluster.url)) note(problem)
    await load.stop()

    printAt('checking')
    const usage = await runChecks(system, ledger, clientOptions)
    for (const problem of findUnexplained(tally)) note(problem)
    await system.stopProcesses()
    const { reads, follows } = load
    return {
      ...usage,
      counts: ledger.counts,
      refused: ledger.refused,
      reads,
      follows,
      tally,
      requestsPerSecond,
      problems: [...problems],
    }

    /** Lets the events of a lane happen, one after the other. */
    async function follow(events: readonly PlannedEvent[]): Promise<void> {
      for (const { at, lane, name, seconds } of events) {
        await sleep(Math.max(0, at - elapsed()) * 1_000)
        printAt(`${lane.name}: ${name}, ${seconds.toFixed(1)} s`)
        await lane.happenings[name]?.(seconds)
      }
    }
  } finally {
    await system.remove()
  }
}

function planAll(lanes: readonly Lane[], seconds: number, seed: number): PlannedEvent[][] {
  // Each lane has its own numbers, so a shorter campaign begins like a longer one.
  return lanes.map((lane, index) => planLane(lane, seconds, createRandom(seed * lanes.length + index)))
}
