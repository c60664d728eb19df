import { attacks, type Credential } from '../../attacks/attacks.ts'
import type { Cluster } from '../../support/cluster.ts'
import type { SupervisedGateway } from '../processes/start-processes.ts'
import type { SupervisedProcess } from '../processes/supervised-process.ts'
import type { Tally } from '../tally.ts'
import type { Conditions } from './conditions.ts'
import { faultsOfDatabase, faultsOfProcess } from './faults.ts'
import type { Happening, Lane } from './plan.ts'
import { type RecoveryOptions, untilRecovered } from './recovery.ts'
import { runAttack } from './run-attack.ts'

export interface LaneOptions extends Omit<RecoveryOptions, 'gateways'> {
  readonly cluster: Cluster
  readonly gateways: readonly SupervisedGateway[]
  readonly workers: readonly SupervisedProcess[]
  /** Keys and tokens of a tenant with many rows, which attacks. */
  readonly attackers: readonly Credential[]
  readonly conditions: Conditions
  readonly tally: Tally
  readonly print: (line: string) => void
}

/** A recovery that takes longer is printed. */
const slowMilliseconds = 2_000

/** One lane for the faults of each process and of the database, and one for the attacks on each gateway. */
export function createLanes(options: LaneOptions): Lane[] {
  const { cluster, gateways, workers, attackers, conditions, tally, print } = options
  const addresses = gateways.map(({ address }) => address)
  const all = gateways.map((_, gateway) => gateway)
  const faultTimes = { pauseSeconds: [3, 18], lengthSeconds: [0.5, 7] } as const

  /** Faults after which these gateways must recover. */
  function disturbing(affected: readonly number[], faults: Readonly<Record<string, Happening>>) {
    return mapHappenings(faults, (name, happening) => async (seconds) => {
      const counts = tally.countHappening('faults', name)
      const disturbance = conditions.disturb(affected)
      await happening(seconds)
      for (const gateway of affected) {
        const isAlone = () => disturbance.isAlone(gateway)
        const milliseconds = await untilRecovered({ ...options, gateways: addresses }, gateway, isAlone)
        if (milliseconds === undefined) continue
        counts.recoveries += 1
        if (milliseconds > slowMilliseconds) {
          print(`gateway ${gateway + 1} answered ${Math.round(milliseconds)} ms after the end of: ${name}`)
        }
        counts.maxRecoveryMilliseconds = Math.max(counts.maxRecoveryMilliseconds, milliseconds)
      }
      disturbance.end()
    })
  }

  const attacksOn = ({ address }: SupervisedGateway) =>
    mapHappenings(attacks, (name) => async (seconds) => {
      tally.countHappening('attacks', name)
      const end = conditions.attack()
      const statuses = await runAttack(name, address, attackers, seconds)
      end()
      for (const [status, count] of Object.entries(statuses)) {
        tally.countStatus('hostile', status, count)
        if (status >= '500' && status !== '503')
          options.note(`${count} responses to the attack "${name}" were ${status}`)
      }
    })

  return [
    ...gateways.map((gateway, index) => ({
      name: gateway.name,
      happenings: disturbing([index], faultsOfProcess(gateway, 'gateway')),
      ...faultTimes,
    })),
    ...workers.map((worker) => ({
      name: worker.name,
      happenings: disturbing([], faultsOfProcess(worker, 'worker')),
      ...faultTimes,
    })),
    { name: 'PostgreSQL', happenings: disturbing(all, faultsOfDatabase(cluster)), ...faultTimes },
    ...gateways.map((gateway) => ({
      name: `attacker of ${gateway.name}`,
      happenings: attacksOn(gateway),
      ...({ pauseSeconds: [4, 20], lengthSeconds: [1, 4] } as const),
    })),
  ]
}

function mapHappenings<Value>(
  record: Readonly<Record<string, Value>>,
  change: (name: string, value: Value) => Happening,
): Record<string, Happening> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(name, value)]))
}
